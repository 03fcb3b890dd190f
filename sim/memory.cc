#include "sim/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/detail/memory_sweep.h"

namespace refit {
namespace {

constexpr std::size_t kHost = index_of(MemoryTerm::host_copies);

// The first of the ranks with the most bytes.
template <class Bytes>
Rank fullest(const std::vector<Rank>& ranks, const Bytes& bytes) {
  return *std::max_element(ranks.begin(), ranks.end(),
                           [&](Rank a, Rank b) { return bytes(a) < bytes(b); });
}

// Ranks with equal weights, communicators and GPUs, by what they hold before anything moves. The
// fullest is chosen later.
std::vector<MemoryClass> classes_of(const std::vector<MemoryTerms>& start, const Cluster& cluster) {
  std::map<std::pair<MemoryTerms, double>, std::size_t> found;
  std::vector<MemoryClass> classes;
  for (std::size_t r = 0; r < start.size(); ++r) {
    const Rank rank(static_cast<std::int64_t>(r));
    if (cluster.store(rank) != nullptr) continue;
    const double memory = cluster.group(rank).gpu_memory_bytes;
    const auto [at, is_new] = found.emplace(std::pair(start[r], memory), classes.size());
    if (is_new) classes.emplace_back().gpu_memory_bytes = memory;
    classes[at->second].ranks.push_back(rank);
  }
  return classes;
}

// Those with the highest peaks, in their old order. How many are gone.
std::size_t keep_fullest(std::vector<MemoryClass>& classes, std::size_t most) {
  if (classes.size() <= most) return 0;
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return classes[a].peak.total() > classes[b].peak.total();
  });
  order.resize(most);
  std::sort(order.begin(), order.end());
  std::vector<MemoryClass> kept;
  for (const std::size_t c : order) kept.push_back(std::move(classes[c]));
  const std::size_t gone = classes.size() - most;
  classes = std::move(kept);
  return gone;
}

}  // namespace

MemoryUse memory_use(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                     const Timeline& timeline, const MemoryOptions& options) {
  detail::MemorySweep sweep(schedule, cluster, timeline, options,
                            detail::memory_at_start(schedule, refit, options));
  sweep.run();
  MemoryUse use;
  use.peak = sweep.peaks();
  double most = -1;
  for (std::size_t r = 0; r < use.peak.size(); ++r) {
    const Rank rank(static_cast<std::int64_t>(r));
    if (cluster.store(rank) != nullptr) continue;  // not a GPU's memory
    const double total = use.peak[r].total();
    const double room = cluster.group(rank).gpu_memory_bytes;
    if (room > 0 && total > room && !use.first_over) use.first_over = rank;
    if (total <= most) continue;
    most = total;
    use.largest = rank;
  }
  return use;
}

MemoryByClass memory_by_class(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const Timeline& timeline, const MemoryOptions& options,
                              const MemoryBounds& bounds) {
  const std::vector<MemoryTerms> start = detail::memory_at_start(schedule, refit, options);
  const MemoryUse use = memory_use(schedule, refit, cluster, timeline, options);
  MemoryByClass result;
  const auto peak_of = [&](Rank rank) { return use.peak[rank.index()].total(); };
  const auto host_of = [&](Rank rank) { return use.peak[rank.index()].bytes[kHost]; };
  result.classes = classes_of(start, cluster);
  for (MemoryClass& c : result.classes) {
    c.fullest = fullest(c.ranks, peak_of);
    c.peak = use.peak[c.fullest.index()];
    c.peak.bytes[kHost] = host_of(fullest(c.ranks, host_of));
  }
  result.left_out = keep_fullest(result.classes, bounds.classes);

  // Once more, for the curves of these few.
  detail::MemorySweep sweep(schedule, cluster, timeline, options, start);
  for (const MemoryClass& c : result.classes) {
    sweep.trace(c.fullest, bounds.points);
    sweep.trace(fullest(c.ranks, host_of), bounds.points);
  }
  sweep.run();
  for (MemoryClass& c : result.classes) {
    c.curve = sweep.curve(c.fullest);
    const std::vector<MemoryTerms>& host = sweep.curve(fullest(c.ranks, host_of));
    for (std::size_t i = 0; i < c.curve.size(); ++i) c.curve[i][kHost] = host[i][kHost];
  }
  result.step_s = sweep.makespan_s() / static_cast<double>(bounds.points);
  return result;
}

}  // namespace refit
