#include "executor/execute_tcp.h"

#include <optional>

#include <fmt/format.h>

#include "executor/detail/tcp_rank.h"
#include "executor/processes.h"

namespace refit {
namespace {

// Whether the fault that is asked for can be caused here, and whether a run can outlive it.
void check_fault(const TcpOptions& tcp, const Cluster& cluster) {
  if (!tcp.inject) return;
  const FaultSpec& fault = *tcp.inject;
  if (fault.rank.value < 0 || fault.rank.value >= cluster.gpus())
    throw Error(ErrorCode::bad_input,
                fmt::format("fault: rank {} does not exist; ranks are 0 to {}", fault.rank.value,
                            cluster.gpus() - 1));
  if (fault.at_s < 0)
    throw Error(ErrorCode::bad_input, "fault: a run needs the time as seconds from its start");
  if (fault.kind == FaultKind::dark && (tcp.network == nullptr || !tcp.network->can_darken()))
    throw Error(ErrorCode::bad_input,
                "fault: this network has no links that could go dark; use --lab");
  const auto lost = lost_ranks(fault, cluster);
  if (lost.size() > 1)
    throw Error(ErrorCode::bad_input,
                fmt::format("fault: the NIC of rank {} carries {} ranks, and a run can cause the "
                            "loss of one; simulate it instead",
                            fault.rank.value, lost.size()));
}

// In this process or, without `place`, in one per rank that is started here.
Measurement run(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                const std::optional<RankEnvironment>& place, const ExecuteOptions& options,
                const TcpOptions& tcp) {
  check_ranks(schedule, cluster, place);
  check_fault(tcp, cluster);
  const Moves moves = write_out(schedule, refit, cluster, options.moves);
  const RunContext context{schedule, refit, cluster, moves};
  ProcessOptions processes;
  processes.network = tcp.network;
  processes.failure = tcp.failure;
  processes.goes_on = tcp.policy != FaultPolicy::fail;
  detail::TcpResults results(context, options, tcp.policy);
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
