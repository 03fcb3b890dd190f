#include "executor/rank_environment.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

using Getter = std::function<const char*(const char*)>;

struct Family {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_rank;   // may be missing
  const char* local_ranks;  // equal to `ranks`: all on one host
  const char* job[2];       // together name it, so that two on one host take different ports
};

constexpr Family kFamilies[] = {
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

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

int number(const char* name, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    bad(fmt::format("environment: {}={} is no number from {} to {}", name, text, least, most));
  return value;
}

constexpr int kMostRanks = 1 << 20;

// Slurm's batch script runs once and has a rank, too; only what srun starts in it is one of many.
bool is_batch_script(const Getter& get, const Family& family) {
  return std::string_view(family.launcher) == "Slurm" && get("SLURM_STEP_ID") == nullptr;
}

void read_master(const Getter& get, const Family& family, RankEnvironment& result) {
  if (const char* master = get("REFIT_MASTER")) {
    const std::string_view text = master;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
      bad(fmt::format("environment: REFIT_MASTER={} is not host:port", text));
    result.master_host = text.substr(0, colon);
    result.master_port = number("REFIT_MASTER's port", text.substr(colon + 1), 1, 65535);
    return;
  }
  const char* host = get("MASTER_ADDR");
  const char* port = get("MASTER_PORT");
  if ((host == nullptr) != (port == nullptr))
    bad(fmt::format("environment: {} is set and {} is not", host ? "MASTER_ADDR" : "MASTER_PORT",
                    host ? "MASTER_PORT" : "MASTER_ADDR"));
  if (host != nullptr) {
    result.master_host = host;
    result.master_port = number("MASTER_PORT", port, 1, 65535);
    // There torchrun's own store listens already: take the next.
    const char* agent = get("TORCHELASTIC_USE_AGENT_STORE");
    if (agent != nullptr && std::string_view(agent) == "True") {
      result.master_port = number("MASTER_PORT", port, 1, 65534) + 1;
    }
    return;
  }
  const char* here = family.local_ranks ? get(family.local_ranks) : nullptr;
  if (here != nullptr && std::string_view(here) == std::to_string(result.ranks)) {
    // All ranks of the job compute the same port, above the usual services and below the ports
    // that the kernel gives out.
    std::uint32_t hash = 2166136261u;
    for (const char c : result.job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    result.master_host = "127.0.0.1";
    result.master_port = 20000 + static_cast<int>(hash % 10000);
    return;
  }
  bad(
      fmt::format("environment: started by {} as one of {} ranks, but where is rank 0? Set "
                  "REFIT_MASTER=host:port",
                  family.launcher, result.ranks));
}

}  // namespace

std::optional<RankEnvironment> environment_rank() {
  return environment_rank([](const char* name) -> const char* { return std::getenv(name); });
}

std::optional<RankEnvironment> environment_rank(const Getter& get) {
  for (const Family& family : kFamilies) {
    const char* rank = get(family.rank);
    if (rank == nullptr || is_batch_script(get, family)) continue;
    const char* ranks = get(family.ranks);
    if (ranks == nullptr)
      bad(fmt::format("environment: {} is set and {} is not", family.rank, family.ranks));
    RankEnvironment result;
    result.launcher = family.launcher;
    result.ranks = number(family.ranks, ranks, 1, kMostRanks);
    result.rank = Rank(number(family.rank, rank, 0, result.ranks - 1));
    if (const char* local = get(family.local_rank))
      result.local_rank = number(family.local_rank, local, 0, result.ranks - 1);
    for (const char* name : family.job)
      if (const char* part = name ? get(name) : nullptr)
        result.job += (result.job.empty() ? "" : ".") + std::string(part);
    read_master(get, family, result);
    return result;
  }
  return std::nullopt;
}

}  // namespace refit
