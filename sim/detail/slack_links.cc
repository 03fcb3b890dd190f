#include "sim/detail/slack_links.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace refit::detail {
namespace {

enum class Stay : std::uint8_t { open, must, out };

// A path over a link, and how many bytes the link carries per byte on it.
struct Crossing {
  PathId path = 0;
  double weight = 0;
};

class SlackSearch {
 public:
  explicit SlackSearch(const TaskGraph& graph)
      : graph_(graph),
        paths_(graph.paths),
        stay_(paths_.capacity_bytes_per_s.size(), Stay::open),
        changes_(stay_.size(), false),
        bring_(stay_.size(), 0) {
    // What changes on the way may be slack at one time only, and may feed more at another.
    for (const LinkChange& change : graph.changes) {
      stay_[change.link.index()] = Stay::must;
      changes_[change.link.index()] = true;
    }
    list_crossings();
  }

  std::vector<Stay> run() {
    // Wide links first, so that narrow ones are there to feed them.
    std::vector<std::uint32_t> order(stay_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return paths_.capacity_bytes_per_s[a] > paths_.capacity_bytes_per_s[b];
    });
    for (const std::uint32_t link : order) {
      if (stay_[link] != Stay::open || crossings_of(link).empty()) continue;
      for (const bool first : {true, false})
        if (fed_by(link, first)) break;
    }
    return std::move(stay_);
  }

 private:
  void list_crossings() {
    const std::vector<bool> used = used_paths(graph_);
    begin_.assign(stay_.size() + 1, 0);
    for (PathId p = 0; p < paths_.size(); ++p)
      if (used[p])
        for (const PathLink& crossed : paths_.of(p)) ++begin_[crossed.link.index() + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    crossings_.resize(begin_.back());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (PathId p = 0; p < paths_.size(); ++p)
      if (used[p])
        for (const PathLink& crossed : paths_.of(p))
          crossings_[next[crossed.link.index()]++] = {p, crossed.weight};
  }

  std::span<const Crossing> crossings_of(std::uint32_t link) const {
    return std::span(crossings_).subspan(begin_[link], begin_[link + 1] - begin_[link]);
  }

  // The first or last other link of a path that stays.
  const PathLink* feeder(PathId path, std::uint32_t link, bool first) const {
    const PathLink* found = nullptr;
    for (const PathLink& crossed : paths_.of(path)) {
      if (crossed.link.index() == link || stay_[crossed.link.index()] == Stay::out) continue;
      found = &crossed;
      if (first) break;
    }
    return found;
  }

  // Marks the link as out if its feeders can't fill it. A feeder brings its own rate, times what
  // the link carries per byte on the feeder where that is most.
  bool fed_by(std::uint32_t link, bool first) {
    const double most = paths_.capacity_bytes_per_s[link];
    double sum = 0;
    bool fits = true;
    feeders_.clear();
    for (const Crossing& crossing : crossings_of(link)) {
      const PathLink* by = feeder(crossing.path, link, first);
      fits = by != nullptr && !changes_[by->link.index()];
      if (!fits) break;
      const std::size_t f = by->link.index();
      const double brings = paths_.capacity_bytes_per_s[f] * crossing.weight / by->weight;
      if (bring_[f] == 0) feeders_.push_back(static_cast<std::uint32_t>(f));
      if (brings > bring_[f]) {
        sum += brings - bring_[f];
        bring_[f] = brings;
      }
      fits = sum <= most * (1 + 1e-12);
      if (!fits) break;
    }
    for (const std::uint32_t f : feeders_) {
      bring_[f] = 0;
      if (fits) stay_[f] = Stay::must;
    }
    if (fits) stay_[link] = Stay::out;
    return fits;
  }

  const TaskGraph& graph_;
  const LinkPaths& paths_;
  std::vector<Stay> stay_;
  std::vector<bool> changes_;
  std::vector<double> bring_;  // by link, during one search
  std::vector<std::uint32_t> feeders_;
  std::vector<std::uint32_t> begin_;
  std::vector<Crossing> crossings_;
};

}  // namespace

std::size_t leave_out_slack_links(TaskGraph& graph) {
  const std::vector<Stay> stay = SlackSearch(graph).run();
  LinkPaths kept;
  kept.capacity_bytes_per_s = graph.paths.capacity_bytes_per_s;
  std::vector<PathLink> links;
  for (PathId p = 1; p < graph.paths.size(); ++p) {
    links.clear();
    for (const PathLink& crossed : graph.paths.of(p))
      if (stay[crossed.link.index()] != Stay::out) links.push_back(crossed);
    kept.add(links);
  }
  graph.paths = std::move(kept);
  return static_cast<std::size_t>(std::count(stay.begin(), stay.end(), Stay::out));
}

}  // namespace refit::detail
