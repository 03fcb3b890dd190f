#include "base/launcher.h"

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

constexpr Launcher kLaunchers[] = {
    {"refit", "REFIT_RANK", "REFIT_SIZE", "REFIT_LOCAL_RANK", nullptr, {}},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", nullptr, {"TORCHELASTIC_RUN_ID"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE"}},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID",
     "SLURM_STEP_TASKS_PER_NODE",
     {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", {"PMI_PORT"}},
};

constexpr int kMostRanks = 1 << 20;

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

// Slurm's batch script runs once and has a rank, too; only what srun starts in it is one of many.
bool is_batch_script(const GetVariable& get, const Launcher& launcher) {
  return std::string_view(launcher.name) == "Slurm" && get("SLURM_STEP_ID") == nullptr;
}

}  // namespace

int variable_number(const char* name, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    bad(fmt::format("environment: {}={} is no number from {} to {}", name, text, least, most));
  return value;
}

std::optional<Launched> launched(const GetVariable& get) {
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = get(launcher.rank);
    if (rank == nullptr || is_batch_script(get, launcher)) continue;
    const char* size = get(launcher.ranks);
    if (size == nullptr)
      bad(fmt::format("environment: {} is set and {} is not", launcher.rank, launcher.ranks));
    const int ranks = variable_number(launcher.ranks, size, 1, kMostRanks);
    return Launched{&launcher, variable_number(launcher.rank, rank, 0, ranks - 1), ranks};
  }
  return std::nullopt;
}

}  // namespace refit
