#include "planner/optimal/optimal.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "planner/optimal/emit.h"
#include "planner/optimal/inside.h"
#include "planner/optimal/problem.h"
#include "sim/predict.h"

namespace refit {
namespace {

constexpr std::int64_t kLeastChunkBytes = 256 << 10;
constexpr double kGoodEnough = 1.005;
constexpr std::size_t kManyDeliveries = 400'000;  // above: one setting, and a cheaper search

std::vector<Setting> settings(bool large, bool trunks) {
  SwarmOptions thorough;
  SwarmOptions cheap;
  cheap.augment = false;
  cheap.look = 6;
  cheap.scan = 16;
  cheap.wakes = 4;
  cheap.offers = 6;
  if (large) return {{0.01, cheap, 2}};
  std::vector<Setting> settings{{0.003, thorough}, {0.001, thorough}, {0.003, cheap}};
  if (trunks) {
    thorough.trunk_budgets = false;
    settings.push_back({0.003, thorough});
  }
  return settings;
}

class Planner {
 public:
  Planner(const Refit& refit, const Cluster& cluster)
      : refit_(refit),
        cluster_(cluster),
        parcels_(find_parcels(refit)),
        contents_(group_contents(parcels_)),
        wires_(make_problem(parcels_, contents_, cluster)) {}

  // The best of a few settings, by simulation where that is cheap beside planning.
  Schedule best() {
    std::optional<Schedule> best;
    double best_s = std::numeric_limits<double>::infinity();
    const bool large = deliveries(0.003) > kManyDeliveries;
    for (const Setting& setting : settings(large, wires_.network.has_trunks())) {
      Schedule schedule = make(setting);
      if (large) return schedule;
      const double seconds = predict(schedule, cluster_).makespan_s;
      if (seconds < best_s) {
        best_s = seconds;
        best = std::move(schedule);
      }
      if (best_s <= wires_.bound.seconds * kGoodEnough) break;
    }
    return std::move(*best);
  }

 private:
  std::int64_t chunk_bytes(double share) const {
    double slowest = std::numeric_limits<double>::infinity();
    for (const PlanNetwork::Port& port : wires_.network.receive_ports)
      slowest = std::min(slowest, port.bytes_per_s / port.slots[PlanNetwork::inside]);
    return std::max(kLeastChunkBytes,
                    static_cast<std::int64_t>(share * wires_.bound.seconds * slowest));
  }

  std::size_t deliveries(double share) const {
    const std::int64_t bytes = chunk_bytes(share);
    std::size_t count = 0;
    for (std::size_t c = 0; c < contents_.size(); ++c) {
      const auto k = static_cast<std::size_t>(wires_.class_of_content[c]);
      const auto chunks = static_cast<std::size_t>((contents_[c].bytes + bytes - 1) / bytes);
      count += chunks * wires_.view.classes[k].needers.size();
    }
    return count;
  }

  Schedule make(const Setting& setting) const {
    std::vector<Content> contents = contents_;
    set_chunks(refit_, parcels_, chunk_bytes(setting.chunk_share), contents);
    const Inside inside = inside_problem(contents, wires_.network, cluster_);
    Solution nvlink;
    if (!inside.contents.empty()) nvlink = solve(inside.problem, inside.contents, setting);
    const Solution wires = solve(wires_, std::move(contents), setting);
    return emit(refit_, parcels_, wires, inside, nvlink);
  }

  const Refit& refit_;
  const Cluster& cluster_;
  std::vector<Parcel> parcels_;
  std::vector<Content> contents_;  // not in chunks yet
  Problem wires_;
};

}  // namespace

Schedule plan_optimal(const Refit& refit, const Cluster& cluster) {
  return Planner(refit, cluster).best();
}

}  // namespace refit
