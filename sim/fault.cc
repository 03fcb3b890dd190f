#include "sim/fault.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

bool touches(const Schedule& schedule, const Op& op, Rank rank) {
  if (op.kind == OpKind::transfer) return op.src == rank || op.dst == rank;
  const auto& ranks = schedule.groups[op.group.index()].ranks;
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// What every survivor holds when the loss is known. Ops that do not touch the lost rank go on until
// then, if they had begun; whatever would have begun later may hang on the lost rank.
Holdings holdings_at(const Schedule& schedule, const Timeline& timeline, Rank lost, double fault_s,
                     double detected_s) {
  Holdings holdings(schedule.parcels);
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    const bool ended = timeline[id].end_s <= fault_s ||
                       (timeline[id].start_s <= fault_s && timeline[id].end_s <= detected_s &&
                        !touches(schedule, op, lost));
    if (!ended) continue;
    if (op.kind == OpKind::transfer) holdings.add(schedule, op, op.dst);
    if (is_collective(op)) {
      for (const Rank rank : schedule.groups[op.group.index()].ranks)
        holdings.add(schedule, op, rank);
    }
  }
  return holdings;
}

}  // namespace

FaultPrediction predict_fault(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const Fault& fault, const PredictOptions& options) {
  if (fault.rank.value < 0 || fault.rank.value >= schedule.ranks) {
    throw Error(ErrorCode::bad_input,
                fmt::format("fault: rank {} does not exist; ranks are 0 to {}", fault.rank.value,
                            schedule.ranks - 1));
  }
  const Prediction undisturbed = predict(schedule, cluster, options);
  FaultPrediction result;
  result.undisturbed_s = undisturbed.makespan_s;
  result.fault_s = fault.at_s >= 0 ? fault.at_s : fault.fraction * undisturbed.makespan_s;
  if (result.fault_s >= undisturbed.makespan_s) {  // it comes too late to matter
    result.detected_s = result.makespan_s = undisturbed.makespan_s;
    return result;
  }
  result.detected_s = result.fault_s + fault.detection_s;

  std::vector<bool> lost(static_cast<std::size_t>(schedule.ranks), false);
  lost[fault.rank.index()] = true;
  const Recovery recovery = plan_recovery(
      schedule, refit, lost,
      holdings_at(schedule, undisturbed.timeline, fault.rank, result.fault_s, result.detected_s));
  for (const Op& op : recovery.schedule.ops) result.recovered_bytes += op.bytes;
  result.dropped = recovery.dropped;
  result.unserved = recovery.unserved;
  result.makespan_s = result.detected_s;
  if (!recovery.schedule.ops.empty()) {
    result.makespan_s += predict(recovery.schedule, cluster, options).makespan_s;
  }
  return result;
}

}  // namespace refit
