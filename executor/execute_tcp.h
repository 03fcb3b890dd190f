#pragma once

#include <string>

#include "executor/execute.h"
#include "executor/loss_options.h"
#include "executor/rank_environment.h"
#include "executor/rank_network.h"

namespace refit {

struct TcpOptions : LossOptions {
  // Where the ranks live. Null: all on loopback, or, in a job that somebody else has started, each
  // at the address by which it reaches rank 0.
  RankNetwork* network = nullptr;
  int socket_buffer_bytes = 256 << 10;       // 0: the system's own
  std::string congestion_control = "cubic";  // the system's own where the kernel lacks it
};

// Runs a verified schedule with one process per rank on this machine, connected by TCP: warm-up,
// new content every iteration, poisoned destinations, every byte compared, as execute_inproc does.
// RankFailure (an Error) if a rank dies, stalls or goes wrong: which, and in which op. With
// policies shrink and rebuild only if the others can't go on: a second rank is lost, bytes are
// wrong, it happens outside of a refit, or nobody else has what is missing (check_failed; the
// tensors are named).
Measurement execute_tcp(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                        const ExecuteOptions& options = {}, const TcpOptions& tcp = {});

// The same as one rank of a job that mpirun, srun or torchrun has started. Rank 0 returns the
// measurement, the others an empty one. Rank 0 serves the others: with another policy than fail the
// job outlives any rank but that one, if its launcher lets it (mpirun ends a job that loses a rank,
// srun --no-kill does not).
Measurement execute_tcp_rank(const RankEnvironment& place, const Schedule& schedule,
                             const Refit& refit, const Cluster& cluster,
                             const ExecuteOptions& options = {}, const TcpOptions& tcp = {});

}  // namespace refit
