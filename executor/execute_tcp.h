#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "executor/execute.h"
#include "executor/failure.h"
#include "executor/rank_environment.h"
#include "executor/rank_memory.h"
#include "executor/rank_network.h"
#include "executor/transport.h"

namespace refit {

struct TcpOptions {
  // Where the ranks live. Null: all on loopback, or, in a job that somebody else has started, each
  // at the address by which it reaches rank 0.
  RankNetwork* network = nullptr;
  int socket_buffer_bytes = 256 << 10;       // 0: the system's own
  std::string congestion_control = "cubic";  // the system's own where the kernel lacks it
  FailureOptions failure;
  // shrink, rebuild: a run that has lost a rank ends with the iteration in which it did, completed
  // by the others, also if that was a warm-up. It is the last of Measurement::iterations; the rest
  // is not run. shrink: what a collective brought counts as missing.
  FaultPolicy policy = FaultPolicy::fail;
  // Caused in the first timed iteration. Needs at_s; links go dark only where the network can do
  // so (a lab), else Error(bad_input).
  std::optional<FaultSpec> inject;
  // Called in every survivor of a run that ended early, with the seed of the refit that was
  // committed last, if one was; tests look at what an engine would read.
  std::function<void(const RankMemory&, std::optional<std::uint64_t>)> aborted;
  // Stands between a rank and its transport; tests break things here.
  std::function<std::unique_ptr<Transport>(Rank, std::unique_ptr<Transport>)> wrap;
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
