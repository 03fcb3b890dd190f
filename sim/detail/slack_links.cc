#include "sim/detail/slack_links.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/detail/graph_index.h"

namespace refit::detail {
namespace {

// A long path (a collective's) is held back by its tightest links; those are its candidates.
constexpr std::size_t kMostCandidates = 8;
constexpr std::size_t kFirstLook = 32;  // crossings
constexpr double kChosen = -1;          // instead of what a feeder brings, once that is counted
// Sums of rates that should be equal differ by rounding.
constexpr double kRounding = 1e-12;

class Search {
 public:
  explicit Search(const TaskGraph& graph)
      : paths_(graph.paths),
        most_(graph.paths.capacity_bytes_per_s),
        keeps_(most_.size(), false),
        slack_(most_.size(), false),
        brings_(most_.size(), 0),
        covers_(most_.size(), 0) {
    for (const LinkChange& change : graph.changes) {
      double& most = most_[change.link.index()];
      most = std::max(most, change.capacity_bytes_per_s);
      keeps_[change.link.index()] = true;
    }
    list_crossings();
    list_tightest();
  }

  // Wide links first, since it is narrow ones that hold back.
  std::vector<bool> run() {
    std::vector<std::uint32_t> order(most_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return most_[a] > most_[b]; });
    for (const std::uint32_t l : order) try_out(l);
    return std::move(slack_);
  }

 private:
  void list_crossings() {
    std::vector<std::uint32_t> link_of_crossing(paths_.links.size());
    path_of_crossing_.resize(paths_.links.size());
    for (PathId p = 0; p < paths_.size(); ++p) {
      for (std::uint32_t c = paths_.begin[p]; c < paths_.begin[p + 1]; ++c) {
        link_of_crossing[c] = static_cast<std::uint32_t>(paths_.links[c].link.index());
        path_of_crossing_[c] = p;
      }
    }
    crossings_ = lists_by_owner(link_of_crossing, most_.size());
  }

  // Of long paths, the crossings that limit their rate most.
  void list_tightest() {
    std::vector<std::uint32_t> all;
    for (PathId p = 0; p < paths_.size(); ++p) {
      if (paths_.of(p).size() <= kMostCandidates) continue;
      all.resize(paths_.of(p).size());
      std::iota(all.begin(), all.end(), paths_.begin[p]);
      std::ranges::partial_sort(all, all.begin() + kMostCandidates, [&](auto a, auto b) {
        const double x = limit(a), y = limit(b);
        return x != y ? x < y : a < b;
      });
      all.resize(kMostCandidates);
      tightest_.emplace(p, all);
    }
  }

  // What could feed a link on the path: calls each(link, crossing).
  template <class Each>
  void candidates(PathId path, Each each) const {
    const auto call = [&](std::uint32_t crossing) {
      each(static_cast<std::uint32_t>(link_of(crossing)), crossing);
    };
    if (paths_.of(path).size() > kMostCandidates) {
      for (const std::uint32_t crossing : tightest_.at(path)) call(crossing);
    } else {
      for (std::uint32_t c = paths_.begin[path]; c < paths_.begin[path + 1]; ++c) call(c);
    }
  }

  std::size_t link_of(std::uint32_t crossing) const { return paths_.links[crossing].link.index(); }
  // The most that a flow by this crossing can have.
  double limit(std::uint32_t crossing) const {
    return most_[link_of(crossing)] / paths_.links[crossing].weight;
  }

  void try_out(std::uint32_t link) {
    const auto crossed_by = crossings_.of(link);
    if (keeps_[link] || crossed_by.empty()) return;
    // Most links that are not slack show it soon.
    if (crossed_by.size() > 2 * kFirstLook && !choose_feeders(link, crossed_by.first(kFirstLook)))
      return;
    if (!choose_feeders(link, crossed_by)) return;
    slack_[link] = true;
    for (const std::uint32_t feeder : chosen_) keeps_[feeder] = true;
  }

  // Links that stay, one on each of the crossing paths, that let no more through than the link
  // carries. Greedy: the cheapest for each path it covers; false if that gets too dear.
  bool choose_feeders(std::uint32_t link, std::span<const std::uint32_t> crossed_by) {
    for (const std::uint32_t c : crossed_by) {
      candidates(path_of_crossing_[c], [&](std::uint32_t other, std::uint32_t crossing) {
        if (other == link || slack_[other]) return;
        if (covers_[other]++ == 0) {
          touched_.push_back(other);
          brings_[other] = 0;
        }
        brings_[other] = std::max(brings_[other], limit(crossing) * paths_.links[c].weight);
      });
    }
    chosen_.clear();
    double sum = 0;
    bool fits = true;
    for (const std::uint32_t c : crossed_by) {
      const std::uint32_t feeder = feeder_of(path_of_crossing_[c]);
      fits = feeder != kNoOwner;
      if (!fits) break;
      if (brings_[feeder] < 0) continue;  // counted already
      sum += brings_[feeder];
      brings_[feeder] = kChosen;
      chosen_.push_back(feeder);
      fits = sum <= most_[link] * (1 + kRounding);
      if (!fits) break;
    }
    for (const std::uint32_t other : touched_) covers_[other] = 0;
    touched_.clear();
    return fits;
  }

  // Of the links on the path, one already chosen, or the cheapest for each path that it covers.
  std::uint32_t feeder_of(PathId path) const {
    std::uint32_t best = kNoOwner;
    double best_price = 0;
    candidates(path, [&](std::uint32_t other, std::uint32_t) {
      if (covers_[other] == 0) return;  // the link itself, or slack
      const double price = brings_[other] < 0 ? kChosen : brings_[other] / covers_[other];
      if (best != kNoOwner && price >= best_price) return;
      best = other;
      best_price = price;
    });
    return best;
  }

  const LinkPaths& paths_;
  std::vector<double> most_;  // by link: its largest capacity at any time
  std::vector<bool> keeps_;   // feeders, and links that change
  std::vector<bool> slack_;
  std::vector<PathId> path_of_crossing_;
  Lists crossings_;  // by link
  std::unordered_map<PathId, std::vector<std::uint32_t>> tightest_;
  // While a link is tried:
  std::vector<double> brings_;         // by link: the most it could let through onto the tried one
  std::vector<std::uint32_t> covers_;  // by link: crossings of the tried one on paths over it
  std::vector<std::uint32_t> touched_, chosen_;
};

}  // namespace

std::size_t leave_out_slack_links(TaskGraph& graph) {
  const std::vector<bool> slack = Search(graph).run();
  const auto count = static_cast<std::size_t>(std::count(slack.begin(), slack.end(), true));
  if (count == 0) return 0;
  LinkPaths kept;
  kept.capacity_bytes_per_s = std::move(graph.paths.capacity_bytes_per_s);
  std::vector<PathLink> links;
  for (PathId p = 1; p < graph.paths.size(); ++p) {
    links.clear();
    for (const PathLink& crossed : graph.paths.of(p)) {
      if (!slack[crossed.link.index()]) links.push_back(crossed);
    }
    kept.add(links);
  }
  graph.paths = std::move(kept);
  return count;
}

}  // namespace refit::detail
