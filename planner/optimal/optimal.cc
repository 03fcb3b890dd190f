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
#include "planner/optimal/settings.h"
#include "sim/certificate.h"
#include "sim/predict.h"

namespace refit {
namespace {

// Where a NIC would have few of the usual ones, chunks are smaller, but last many latencies.
constexpr std::int64_t kUsualChunkBytes = 256 << 10, kLeastChunkBytes = 16 << 10;
constexpr double kFewChunks = 8;
constexpr std::int64_t kLeastCodedChunkBytes = 1 << 20;  // of many small regions
constexpr double kGoodEnough = 1.005;
constexpr double kWorthMore = 1.02;         // above: more settings are tried
constexpr std::size_t kMostWork = 400'000;  // transfers, times how many of them are at a time
constexpr double kFar = 1.05;               // above: yet more
constexpr std::size_t kMostWorkFar = 2'000'000;

class Planner {
 public:
  Planner(const Refit& refit, const Cluster& cluster, const PlanLimits& limits,
          const DeltaOptions* delta, const Around& around)
      : refit_(refit),
        cluster_(cluster),
        limits_(limits),
        delta_(delta),
        around_(around),
        parcels_(parcels_of(refit, delta)),
        contents_(group_contents(parcels_)),
        wires_(make_problem(parcels_, contents_, cluster)) {
    for (const PlanNetwork::Port& port : wires_.network.receive_ports)
      slowest_bytes_per_s_ =
          std::min(slowest_bytes_per_s_, port.bytes_per_s / port.slots[PlanNetwork::inside]);
    if (delta != nullptr) {
      least_chunk_bytes_ = kLeastCodedChunkBytes;
    } else if (wires_.bound.seconds * slowest_bytes_per_s_ < kFewChunks * kUsualChunkBytes) {
      const double lasting =
          kLatenciesPerChunk * largest_latency(parcels_, cluster) * slowest_bytes_per_s_;
      least_chunk_bytes_ = static_cast<std::int64_t>(
          std::clamp(lasting, double{kLeastChunkBytes}, double{kUsualChunkBytes}));
    }
  }

  // The best of a few settings, by simulation where that is cheap beside planning.
  Schedule best() {
    const std::size_t count = deliveries(0.003);
    const bool trunks = wires_.network.has_trunks();
    const std::vector<Setting> usual = usual_settings(count, trunks, limits_);
    const bool one = usual.size() == 1;
    for (const Setting& setting : usual) {
      Schedule schedule = make(setting);
      if (one) return schedule;
      judge(std::move(schedule));
      if (is_within(kGoodEnough)) break;
    }
    std::size_t work = 0;
    if (!limits_.any()) {
      for (const Setting& setting : more_settings(trunks)) {
        const int at_a_time = std::max(setting.places.inside, setting.places.crossing);
        work += deliveries(setting.chunk_share) * static_cast<std::size_t>(at_a_time);
        if (is_within(kWorthMore) || work > (is_within(kFar) ? kMostWork : kMostWorkFar)) break;
        judge(make(setting));
      }
    }
    if (!best_) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: no plan keeps the limits; the nearest takes {}",
                              delta_ != nullptr ? "delta_reshard" : "optimal",
                              fmt::join(exceeded(limits_, *nearest_), ", ")));
    }
    return std::move(*best_);
  }

 private:
  static std::vector<Parcel> parcels_of(const Refit& refit, const DeltaOptions* delta) {
    std::vector<Parcel> parcels = find_parcels(refit);
    if (delta != nullptr) code_parcels(refit, *delta, parcels);
    return parcels;
  }

  bool is_within(double ratio) const { return best_s_ <= wires_.bound.seconds * ratio; }

  // Keeps it if it is the fastest yet of those that keep the limits.
  void judge(Schedule schedule) {
    const Prediction prediction = predict(schedule, cluster_);
    if (limits_.any()) {
      const PlanNeeds needs = plan_needs(schedule, refit_, cluster_, prediction.timeline);
      if (!exceeded(limits_, needs).empty()) {
        if (!nearest_ || excess(limits_, needs) < excess(limits_, *nearest_)) nearest_ = needs;
        return;
      }
    }
    if (prediction.makespan_s >= best_s_) return;
    best_s_ = prediction.makespan_s;
    best_ = std::move(schedule);
  }

  std::int64_t chunk_bytes(double share) const {
    return std::max(least_chunk_bytes_,
                    static_cast<std::int64_t>(share * wires_.bound.seconds * slowest_bytes_per_s_));
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

  Schedule make(Setting setting) const {
    if (delta_ != nullptr) setting.holders = 1;  // or several owners code the same
    std::vector<Content> contents = contents_;
    set_chunks(refit_, parcels_, chunk_bytes(setting.chunk_share), contents);
    const Solution wires = solve(wires_, std::move(contents), setting);
    const Inside inside = solve_inside(wires, wires_.bound.seconds, setting);
    EmitOptions options{limits_.communicators.value_or(2) == 1,
                        limits_.caps(),
                        limits_.ctas.value_or(0),
                        delta_,
                        around_,
                        setting.window_times};
    return emit(refit_, parcels_, wires, inside, options);
  }

  const Refit& refit_;
  const Cluster& cluster_;
  const PlanLimits& limits_;
  const DeltaOptions* delta_;
  const Around around_;
  std::vector<Parcel> parcels_;
  std::vector<Content> contents_;  // not in chunks yet
  Problem wires_;
  double slowest_bytes_per_s_ = std::numeric_limits<double>::infinity();  // place of a receiver
  std::int64_t least_chunk_bytes_ = kUsualChunkBytes;
  std::optional<Schedule> best_;
  double best_s_ = std::numeric_limits<double>::infinity();
  std::optional<PlanNeeds> nearest_;  // of the plans that exceed a limit
};

}  // namespace

Schedule plan_optimal(const Refit& refit, const Cluster& cluster, const PlanLimits& limits,
                      const DeltaOptions* delta, const Around& around) {
  const LinkCaps caps = limits.caps();
  if (!caps.any()) return Planner(refit, cluster, limits, delta, around).best();
  const Cluster capped = cluster.capped(caps);
  return Planner(refit, capped, limits, delta, around).best();
}

}  // namespace refit
