#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace refit {

// Which of a job's equal processes this one is, by the variables that who started it has left.
struct Launched {
  const struct Launcher* launcher = nullptr;
  int rank = 0;
  int ranks = 0;
};

// A family of variables. Those that a launcher lacks are null.
struct Launcher {
  const char* name;  // "refit", "torchrun", "Open MPI", "Slurm", "PMI"
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* local_ranks;  // equal to `ranks`: all on one host
  const char* job[2];       // together name it, so that two on one host take different ports
};

// Null for what is not set, as std::getenv.
using GetVariable = std::function<const char*(const char*)>;

// REFIT_RANK, REFIT_SIZE; else torchrun's RANK, WORLD_SIZE; else OMPI_COMM_WORLD_*; else
// SLURM_PROCID, SLURM_STEP_NUM_TASKS (in a step that srun has started: a batch script runs once);
// else PMI_RANK, PMI_SIZE. The first whose rank is set decides. Nothing if no launcher has left a
// trace. Error(bad_input) if the values are malformed or do not fit each other.
std::optional<Launched> launched(const GetVariable& get);

// The whole number in a variable's value, or Error(bad_input) with its name.
int variable_number(const char* name, std::string_view value, int least, int most);

}  // namespace refit
