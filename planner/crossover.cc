#include "planner/crossover.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "sim/predict.h"

namespace refit {
namespace {

constexpr double kNear = 1.01;  // a crossing is known this well

void check(const CrossoverQuestion& question) {
  const auto fail = [](std::string message) {
    throw Error(ErrorCode::bad_input, std::move(message));
  };
  if (!question.plan.delta)
    fail("a crossover needs a scenario with `delta`, which says how changes are coded");
  if (question.ways.size() < 2) fail("a crossover is between two strategies or more");
  if (question.bytes_per_s.empty() || question.changed.empty())
    fail("a crossover needs at least one bandwidth and one change rate");
  if (question.link == LinkKind::wan && question.cluster.spec().wans.empty())
    fail("the cluster has no WAN link; look at the NICs, or write cluster.wan");
}

class Search {
 public:
  explicit Search(const CrossoverQuestion& question) : question_(question) {}

  Crossover run() {
    Crossover result;
    for (const Policy& way : question_.ways) result.ways.push_back(way.name);
    for (const double rate : question_.bytes_per_s) {
      auto& row = result.seconds.emplace_back();
      auto& best = result.fastest.emplace_back();
      for (const double changed : question_.changed) {
        row.push_back(all_seconds(rate, changed));
        best.push_back(fastest(row.back()));
      }
    }
    for (std::size_t c = 0; c < question_.changed.size(); ++c) {
      for (std::size_t b = 0; b + 1 < question_.bytes_per_s.size(); ++b)
        add(result, {b, c}, {b + 1, c});
    }
    for (std::size_t b = 0; b < question_.bytes_per_s.size(); ++b) {
      for (std::size_t c = 0; c + 1 < question_.changed.size(); ++c)
        add(result, {b, c}, {b, c + 1});
    }
    return result;
  }

 private:
  struct Place {
    std::size_t bandwidth = 0, changed = 0;
  };

  double seconds(std::size_t way, double bytes_per_s, double changed) {
    const Policy& policy = question_.ways[way];
    // Whole weights take as long whatever has changed.
    const auto [at, is_new] = known_.try_emplace({way, bytes_per_s, policy.coded ? changed : 0}, 0);
    if (is_new) {
      const Cluster cluster = with_bandwidth(question_.cluster, question_.link, bytes_per_s);
      PlanOptions options = question_.plan;
      set_change_rate(question_.refit, changed, *options.delta);
      at->second = predict(plan(question_.refit, cluster, policy, options), cluster,
                           {question_.network_model, {}, {}})
                       .makespan_s;
    }
    return at->second;
  }

  std::vector<double> all_seconds(double bytes_per_s, double changed) {
    std::vector<double> all;
    for (std::size_t w = 0; w < question_.ways.size(); ++w)
      all.push_back(seconds(w, bytes_per_s, changed));
    return all;
  }

  static std::size_t fastest(const std::vector<double>& seconds) {
    return static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) -
                                    seconds.begin());
  }

  // Between two neighbours in the table: where their two fastest ways change places. A third way
  // that is the fastest only between the two is not looked for.
  void add(Crossover& result, Place low_place, Place high_place) {
    const std::size_t below = result.fastest[low_place.bandwidth][low_place.changed];
    const std::size_t above = result.fastest[high_place.bandwidth][high_place.changed];
    if (below == above) return;
    const bool of_bandwidth = low_place.bandwidth != high_place.bandwidth;
    double low = of_bandwidth ? question_.bytes_per_s[low_place.bandwidth]
                              : question_.changed[low_place.changed];
    double high = of_bandwidth ? question_.bytes_per_s[high_place.bandwidth]
                               : question_.changed[high_place.changed];
    Crossing found;
    found.of_bandwidth = of_bandwidth;
    found.bytes_per_s = question_.bytes_per_s[low_place.bandwidth];
    found.changed = question_.changed[low_place.changed];
    double& at = of_bandwidth ? found.bytes_per_s : found.changed;
    while (high / low > kNear) {
      at = std::sqrt(low * high);
      const bool before = seconds(below, found.bytes_per_s, found.changed) <
                          seconds(above, found.bytes_per_s, found.changed);
      (before ? low : high) = at;
    }
    at = std::sqrt(low * high);
    found.below = result.ways[below];
    found.above = result.ways[above];
    found.seconds = seconds(below, found.bytes_per_s, found.changed);
    result.crossings.push_back(std::move(found));
  }

  const CrossoverQuestion& question_;
  std::map<std::tuple<std::size_t, double, double>, double> known_;
};

}  // namespace

Cluster with_bandwidth(const Cluster& cluster, LinkKind kind, double bytes_per_s) {
  ClusterSpec spec = cluster.spec();
  if (kind == LinkKind::wan) {
    for (WanSpec& wan : spec.wans) wan.bytes_per_s = bytes_per_s;
  } else {
    for (NodeGroupSpec& group : spec.groups) group.nic_bytes_per_s = bytes_per_s;
  }
  return Cluster(std::move(spec));
}

Crossover find_crossover(const CrossoverQuestion& question) {
  check(question);
  return Search(question).run();
}

}  // namespace refit
