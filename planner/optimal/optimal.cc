#include "planner/optimal/optimal.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "planner/optimal/emit.h"
#include "planner/optimal/inside.h"
#include "planner/optimal/problem.h"
#include "sim/predict.h"

namespace refit {
namespace {

constexpr std::int64_t kLeastChunkBytes = 256 << 10;
constexpr double kGoodEnough = 1.005;
constexpr std::size_t kManyDeliveries = 400'000;  // above: one setting, and a cheaper search
constexpr std::size_t kVeryMany = 4'000'000;      // above: fewer owners are asked

SwarmOptions cheap_search(bool frugal) {
  SwarmOptions cheap;
  cheap.frugal = frugal;
  cheap.augment = false;
  cheap.look = 6;
  cheap.scan = 16;
  cheap.wakes = 4;
  cheap.offers = 6;
  return cheap;
}

std::vector<Setting> settings(std::size_t deliveries, bool trunks, const PlanLimits& limits) {
  std::vector<Setting> settings;
  if (deliveries > kManyDeliveries) {
    settings = {{0.01, cheap_search(true), deliveries > kVeryMany ? 2 : 4}};
  } else {
    // The quickest first: it is often good enough.
    settings = {{0.003, cheap_search(false)}, {0.001, cheap_search(false)}, {0.003, {}},
                {0.003, cheap_search(true)},  {0.001, cheap_search(true)},  {0.001, {}}};
    settings.push_back({0.003, {}});
    settings.back().swarm.steal = false;
    if (trunks) {
      settings.push_back({0.003, {}});
      settings.back().swarm.trunk_budgets = false;
      settings.push_back({0.003, cheap_search(false)});
      settings.back().shared_sends = false;
      settings.push_back({0.003, {}});
      settings.back().shared_sends = false;
    }
  }
  if (!limits.any()) return settings;
  // Fewer ops and less memory: larger chunks, and no NIC that works for a neighbour.
  const SwarmOptions search = settings.front().swarm;
  for (const double share : {0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 1e3}) {
    settings.push_back({share, search, 4, true});
    settings.push_back({share, search, 4, false});
  }
  for (Setting& setting : settings) {
    setting.swarm.peers = limits.peers.value_or(0);
    setting.swarm.steal = setting.swarm.steal && setting.proxies;
  }
  return settings;
}

class Planner {
 public:
  Planner(const Refit& refit, const Cluster& cluster, const PlanLimits& limits)
      : refit_(refit),
        cluster_(cluster),
        limits_(limits),
        parcels_(find_parcels(refit)),
        contents_(group_contents(parcels_)),
        wires_(make_problem(parcels_, contents_, cluster)) {}

  // The best of a few settings, by simulation where that is cheap beside planning.
  Schedule best() {
    std::optional<Schedule> best;
    double best_s = std::numeric_limits<double>::infinity();
    std::optional<PlanNeeds> nearest;  // of the plans that exceed a limit
    const std::size_t count = deliveries(0.003);
    const bool large = count > kManyDeliveries;
    for (const Setting& setting : settings(count, wires_.network.has_trunks(), limits_)) {
      Schedule schedule = make(setting);
      if (large && !limits_.any()) return schedule;
      const Prediction prediction = predict(schedule, cluster_);
      if (limits_.any()) {
        const PlanNeeds needs = plan_needs(schedule, refit_, cluster_, prediction.timeline);
        if (!exceeded(limits_, needs).empty()) {
          if (!nearest || excess(limits_, needs) < excess(limits_, *nearest)) nearest = needs;
          continue;
        }
      }
      if (prediction.makespan_s < best_s) {
        best_s = prediction.makespan_s;
        best = std::move(schedule);
      }
      if (best_s <= wires_.bound.seconds * kGoodEnough) break;
    }
    if (!best) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("optimal: no plan keeps the limits; the nearest takes {}",
                              fmt::join(exceeded(limits_, *nearest), ", ")));
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
    EmitOptions options{limits_.communicators.value_or(2) == 1, limits_.caps(),
                        limits_.ctas.value_or(0)};
    return emit(refit_, parcels_, wires, inside, nvlink, options);
  }

  const Refit& refit_;
  const Cluster& cluster_;
  const PlanLimits& limits_;
  std::vector<Parcel> parcels_;
  std::vector<Content> contents_;  // not in chunks yet
  Problem wires_;
};

}  // namespace

Schedule plan_optimal(const Refit& refit, const Cluster& cluster, const PlanLimits& limits) {
  const LinkCaps caps = limits.caps();
  if (!caps.any()) return Planner(refit, cluster, limits).best();
  const Cluster capped = cluster.capped(caps);
  return Planner(refit, capped, limits).best();
}

}  // namespace refit
