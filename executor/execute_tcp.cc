#include "executor/execute_tcp.h"

#include <optional>

#include "executor/detail/rank_results.h"
#include "executor/detail/tcp_rank.h"
#include "executor/processes.h"

namespace refit {
namespace {

// In this process or, without `place`, in one per rank that is started here.
Measurement run(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                const std::optional<RankEnvironment>& place, const ExecuteOptions& options,
                const TcpOptions& tcp) {
  check_ranks(schedule, cluster, place);
  check_fault(tcp.inject, cluster, tcp.network != nullptr && tcp.network->can_darken());
  const Moves moves = write_out(schedule, refit, cluster, options.moves);
  const RunContext context{schedule, refit, cluster, moves};
  ProcessOptions processes;
  processes.network = tcp.network;
  processes.failure = tcp.failure;
  processes.goes_on = tcp.goes_on();
  detail::RankResults results("tcp", context, options, tcp.policy);
  run_processes(
      context, place, processes,
      [&](RankControl& control, RankNetwork& network) {
        TcpOptions own = tcp;
        own.network = &network;
        detail::run_tcp_rank(context, options, own, control);
      },
      [&](Rank rank, std::string_view blob) { results.add(rank, blob); });
  const bool has_all = !place || place->rank == Rank(0);
  return has_all ? results.finish() : Measurement{};
}

}  // namespace

Measurement execute_tcp(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                        const ExecuteOptions& options, const TcpOptions& tcp) {
  return run(schedule, refit, cluster, std::nullopt, options, tcp);
}

Measurement execute_tcp_rank(const RankEnvironment& place, const Schedule& schedule,
                             const Refit& refit, const Cluster& cluster,
                             const ExecuteOptions& options, const TcpOptions& tcp) {
  return run(schedule, refit, cluster, place, options, tcp);
}

}  // namespace refit
