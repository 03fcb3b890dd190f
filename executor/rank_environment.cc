#include "executor/rank_environment.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/launcher.h"

namespace refit {
namespace {

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

void read_master(const GetVariable& get, const Launcher& launcher, RankEnvironment& result) {
  if (const char* master = get("REFIT_MASTER")) {
    const std::string_view text = master;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
      bad(fmt::format("environment: REFIT_MASTER={} is not host:port", text));
    result.master_host = text.substr(0, colon);
    result.master_port = variable_number("REFIT_MASTER's port", text.substr(colon + 1), 1, 65535);
    return;
  }
  const char* host = get("MASTER_ADDR");
  const char* port = get("MASTER_PORT");
  if ((host == nullptr) != (port == nullptr))
    bad(fmt::format("environment: {} is set and {} is not", host ? "MASTER_ADDR" : "MASTER_PORT",
                    host ? "MASTER_PORT" : "MASTER_ADDR"));
  if (host != nullptr) {
    result.master_host = host;
    result.master_port = variable_number("MASTER_PORT", port, 1, 65535);
    // There torchrun's own store listens already: take the next.
    const char* agent = get("TORCHELASTIC_USE_AGENT_STORE");
    if (agent != nullptr && std::string_view(agent) == "True") {
      result.master_port = variable_number("MASTER_PORT", port, 1, 65534) + 1;
    }
    return;
  }
  const char* here = launcher.local_ranks ? get(launcher.local_ranks) : nullptr;
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
                  launcher.name, result.ranks));
}

}  // namespace

std::optional<RankEnvironment> environment_rank() {
  return environment_rank([](const char* name) -> const char* { return std::getenv(name); });
}

std::optional<RankEnvironment> environment_rank(const GetVariable& get) {
  const std::optional<Launched> here = launched(get);
  if (!here) return std::nullopt;
  const Launcher& launcher = *here->launcher;
  RankEnvironment result;
  result.launcher = launcher.name;
  result.ranks = here->ranks;
  result.rank = Rank(here->rank);
  if (const char* local = get(launcher.local_rank))
    result.local_rank = variable_number(launcher.local_rank, local, 0, result.ranks - 1);
  for (const char* name : launcher.job)
    if (const char* part = name ? get(name) : nullptr)
      result.job += (result.job.empty() ? "" : ".") + std::string(part);
  read_master(get, launcher, result);
  return result;
}

}  // namespace refit
