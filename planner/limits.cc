#include "planner/limits.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "base/units.h"
#include "sim/memory.h"
#include "topology/route.h"

namespace refit {
namespace {

template <class T>
T largest(const std::vector<T>& values) {
  return values.empty() ? T{} : *std::max_element(values.begin(), values.end());
}

double extra_memory(const MemoryTerms& terms) {
  return gpu_bytes(terms) - terms[index_of(MemoryTerm::source_shards)] -
         terms[index_of(MemoryTerm::destination_shards)] - terms[index_of(MemoryTerm::baselines)];
}

}  // namespace

LinkCaps PlanLimits::caps() const {
  LinkCaps caps;
  caps.nic_bytes_per_s = nic_bytes_per_s.value_or(0);
  if (!ctas) return caps;
  const double moved = *ctas * cta_bytes_per_s;
  caps.nvlink_bytes_per_s = moved;
  caps.nic_bytes_per_s = nic_bytes_per_s ? std::min(*nic_bytes_per_s, moved) : moved;
  return caps;
}

PlanNeeds plan_needs(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                     const Timeline& timeline) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  std::vector<std::int64_t> ops(ranks, 0);
  std::vector<int> peers(ranks, 0);
  std::vector<std::vector<bool>> lanes(ranks,
                                       std::vector<bool>(static_cast<std::size_t>(schedule.lanes)));
  std::unordered_set<std::uint64_t> pairs;
  for (const Op& op : schedule.ops) {
    if (op.kind != OpKind::transfer || op.src == op.dst) continue;
    for (const Rank rank : {op.src, op.dst}) {
      ++ops[rank.index()];
      lanes[rank.index()][op.lane] = true;
    }
    const std::uint64_t low = std::min(op.src.index(), op.dst.index());
    if (!pairs.insert((low << 32) | std::max(op.src.index(), op.dst.index())).second) continue;
    if (route_kind(cluster, op.src, op.dst) != RouteKind::network) continue;
    ++peers[op.src.index()];
    ++peers[op.dst.index()];
  }
  PlanNeeds needs;
  needs.ops = largest(ops);
  needs.peers = largest(peers);
  for (const std::vector<bool>& used : lanes) {
    needs.communicators =
        std::max(needs.communicators, static_cast<int>(std::count(used.begin(), used.end(), true)));
  }
  for (const RankMemoryUse& use : memory_use(schedule, refit, cluster, timeline).peak)
    needs.extra_memory_bytes = std::max(needs.extra_memory_bytes, extra_memory(use.bytes));
  return needs;
}

double excess(const PlanLimits& limits, const PlanNeeds& needs) {
  double most = 0;
  const auto look = [&](auto limit, double taken) {
    if (limit) most = std::max(most, taken / std::max(1.0, static_cast<double>(*limit)));
  };
  look(limits.extra_memory_bytes, needs.extra_memory_bytes);
  look(limits.ops, static_cast<double>(needs.ops));
  look(limits.communicators, needs.communicators);
  look(limits.peers, needs.peers);
  return most;
}

std::vector<std::string> exceeded(const PlanLimits& limits, const PlanNeeds& needs) {
  std::vector<std::string> lines;
  if (limits.extra_memory_bytes &&
      needs.extra_memory_bytes > static_cast<double>(*limits.extra_memory_bytes)) {
    lines.push_back(fmt::format("extra memory {} of {} per rank",
                                format_bytes(needs.extra_memory_bytes),
                                format_bytes(static_cast<double>(*limits.extra_memory_bytes))));
  }
  if (limits.ops && needs.ops > *limits.ops) {
    lines.push_back(
        fmt::format("ops {} of {} per rank", format_count(needs.ops), format_count(*limits.ops)));
  }
  if (limits.communicators && needs.communicators > *limits.communicators) {
    lines.push_back(
        fmt::format("communicators {} of {} per rank", needs.communicators, *limits.communicators));
  }
  if (limits.peers && needs.peers > *limits.peers)
    lines.push_back(fmt::format("peers {} of {} per rank", needs.peers, *limits.peers));
  return lines;
}

}  // namespace refit
