#include "sim/fault.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/error.h"
#include "schedule/recovery.h"
#include "sim/detail/task_graph.h"

namespace refit {
namespace {

bool touches(const Schedule& schedule, const Op& op, const std::vector<bool>& lost) {
  const auto is_lost = [&](Rank rank) { return lost[rank.index()]; };
  if (op.kind == OpKind::transfer) return is_lost(op.src) || is_lost(op.dst);
  const auto& ranks = schedule.groups[op.group.index()].ranks;
  return std::any_of(ranks.begin(), ranks.end(), is_lost) ||
         (op.kind == OpKind::broadcast && is_lost(op.src));
}

// Ops that never end: those that the lost ranks were in, and whatever waits for them.
std::vector<bool> blocked_tasks(const detail::TaskGraph& graph, const Schedule& schedule,
                                const Timeline& timeline, const std::vector<bool>& lost,
                                double fault_s) {
  std::vector<bool> blocked(graph.tasks(), false);
  std::vector<detail::TaskId> open;
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    if (timeline[id].end_s <= fault_s || !touches(schedule, schedule.ops[id], lost)) continue;
    blocked[id] = true;
    open.push_back(static_cast<detail::TaskId>(id));
  }
  while (!open.empty()) {
    const detail::TaskId task = open.back();
    open.pop_back();
    for (const detail::TaskId next : graph.successors_of(task)) {
      if (!blocked[next]) open.push_back(next);
      blocked[next] = true;
    }
  }
  return blocked;
}

// What every survivor has by transfers when the loss is known. A collective's bytes lie in a bucket
// until all of them are there; what it brought counts as missing, as the executor counts it.
Holdings holdings_at(const Schedule& schedule, const Timeline& timeline,
                     const std::vector<bool>& blocked, double detected_s) {
  Holdings holdings(schedule.parcels);
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (op.kind != OpKind::transfer || blocked[id] || timeline[id].end_s > detected_s) continue;
    holdings.add(schedule, op, op.dst);
  }
  return holdings;
}

// Work (export, pack, convert, load, …) that the busiest survivor still has to do when the loss is
// known; it is taken to follow the recovery's transfers. `stopped_s` is when an op could no longer
// go on: blocked ones at the fault, others when all know of it.
double work_left_s(const Schedule& schedule, const Timeline& timeline,
                   const std::vector<bool>& lost,
                   const std::function<double(std::size_t)>& stopped_s) {
  std::vector<double> left_s(static_cast<std::size_t>(schedule.ranks), 0);
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    const Span& span = timeline[id];
    if (op.kind != OpKind::compute || span.end_s <= stopped_s(id)) continue;
    for (const Rank rank : schedule.groups[op.group.index()].ranks) {
      if (!lost[rank.index()])
        left_s[rank.index()] += span.end_s - std::max(span.start_s, stopped_s(id));
    }
  }
  return *std::max_element(left_s.begin(), left_s.end());
}

void check_rank(const FaultSpec& fault, const Schedule& schedule) {
  if (fault.rank.value >= 0 && fault.rank.value < schedule.ranks) return;
  throw Error(ErrorCode::bad_input, fmt::format("fault: rank {} does not exist; ranks are 0 to {}",
                                                fault.rank.value, schedule.ranks - 1));
}

}  // namespace

FaultPrediction predict_fault(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const FaultSpec& fault, const PredictOptions& options) {
  check_rank(fault, schedule);
  return predict_fault(schedule, refit, cluster, fault, predict(schedule, cluster, options),
                       options);
}

FaultPrediction predict_fault(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const FaultSpec& fault, const Prediction& undisturbed,
                              const PredictOptions& options) {
  check_rank(fault, schedule);
  FaultPrediction result;
  result.undisturbed_s = undisturbed.makespan_s;
  result.fault_s = fault.at_s >= 0 ? fault.at_s : fault.fraction * undisturbed.makespan_s;
  if (result.fault_s >= undisturbed.makespan_s) {
    result.detected_s = result.makespan_s = undisturbed.makespan_s;
    result.completed = true;
    return result;
  }
  result.detected_s = result.fault_s + fault.detection_s;
  result.makespan_s = result.detected_s;
  if (fault.policy == FaultPolicy::fail) return result;

  std::vector<bool> lost(static_cast<std::size_t>(schedule.ranks), false);
  for (const Rank rank : lost_ranks(fault, cluster)) {
    if (rank.value < schedule.ranks) lost[rank.index()] = true;
  }
  Holdings holdings(schedule.parcels);
  std::function<double(std::size_t)> stopped_s = [](std::size_t) { return 0.0; };
  if (fault.policy == FaultPolicy::shrink) {
    const detail::TaskGraph graph =
        detail::make_task_graph(schedule, cluster, options.network_model);
    const std::vector<bool> blocked =
        blocked_tasks(graph, schedule, undisturbed.timeline, lost, result.fault_s);
    holdings = holdings_at(schedule, undisturbed.timeline, blocked, result.detected_s);
    stopped_s = [&result, blocked](std::size_t id) {
      return blocked[id] ? result.fault_s : result.detected_s;
    };
  }
  const Recovery recovery = plan_recovery(schedule, refit, cluster, lost, holdings);
  result.dropped = recovery.dropped;
  result.unserved = recovery.unserved;
  if (!recovery.unserved.empty()) return result;
  result.completed = true;
  for (const Op& op : recovery.schedule.ops) result.recovered_bytes += op.bytes;
  if (fault.policy == FaultPolicy::rebuild) result.makespan_s += fault.rebuild_s;
  result.makespan_s += work_left_s(schedule, undisturbed.timeline, lost, stopped_s);
  if (!recovery.schedule.ops.empty()) {
    result.makespan_s += predict(recovery.schedule, cluster, options).makespan_s;
  }
  return result;
}

}  // namespace refit
