#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/id.h"

namespace refit {

// This process's place in a job that somebody else has started.
struct RankEnvironment {
  std::string launcher;  // as base/launcher.h names it
  Rank rank;
  int ranks = 0;
  int local_rank = 0;
  std::string master_host;  // where rank 0 listens
  int master_port = 0;
  std::string job = {};  // as its launcher names it; may be empty
};

// Reads it from the environment: REFIT_RANK, REFIT_SIZE (REFIT_LOCAL_RANK); else torchrun's RANK,
// WORLD_SIZE, LOCAL_RANK; else OMPI_COMM_WORLD_*; else SLURM_PROCID, SLURM_STEP_NUM_TASKS,
// SLURM_LOCALID (in a step that srun has started); else PMI_RANK, PMI_SIZE. The first whose rank is
// set decides. Rank 0's address is
// REFIT_MASTER=host:port, else MASTER_ADDR and MASTER_PORT; a job that is all on one host needs
// none. Nothing if no launcher has left a trace. Error(bad_input) if the values are malformed, do
// not fit each other, or leave out the address.
std::optional<RankEnvironment> environment_rank();

// The same with another environment; `get` returns null for what is not set.
std::optional<RankEnvironment> environment_rank(const std::function<const char*(const char*)>& get);

}  // namespace refit
