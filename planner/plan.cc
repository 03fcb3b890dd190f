#include "planner/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "models/parcels.h"
#include "planner/optimal/optimal.h"
#include "planner/stage_work.h"
#include "planner/strategies.h"
#include "schedule/builder.h"

namespace refit {
namespace {

constexpr Strategy kOrder[] = {Strategy::reshard, Strategy::direct, Strategy::gather_broadcast};

int group_of(Strategy strategy) { return static_cast<int>(strategy); }

// Reshard cuts every parcel into pipeline chunks; gather_broadcast cuts a stage into buckets.
void set_chunks(const PlanOptions& options, std::vector<Parcel>& parcels) {
  std::vector<std::int64_t> stage_bytes;
  for (const Parcel& parcel : parcels) {
    if (parcel.group != group_of(Strategy::gather_broadcast)) continue;
    const auto stage = static_cast<std::size_t>(parcel.stage);
    if (stage_bytes.size() <= stage) stage_bytes.resize(stage + 1, 0);
    stage_bytes[stage] += parcel.bytes;
  }
  for (Parcel& parcel : parcels) {
    if (parcel.group == group_of(Strategy::reshard)) parcel.chunks = options.chunks;
    if (parcel.group == group_of(Strategy::gather_broadcast)) {
      parcel.chunks =
          bucket_count(stage_bytes[static_cast<std::size_t>(parcel.stage)], options.bucket_bytes);
    }
  }
}

void check(const Refit& refit, const Cluster& cluster, const PlanOptions& options) {
  if (refit.classes.empty()) throw Error(ErrorCode::bad_input, "there is no tensor to move");
  if (refit.ranks > cluster.gpus()) {
    throw Error(ErrorCode::bad_input,
                fmt::format("the layouts name {} ranks but the cluster has {} GPUs", refit.ranks,
                            cluster.gpus()));
  }
  if (options.chunks < 1 || options.chunks > 4096 || options.streams < 1 || options.streams > 64 ||
      options.buffers < 1 || options.bucket_bytes < 1 || options.injected_domains < 0) {
    throw Error(ErrorCode::bad_input,
                "plan: chunks (1 to 4096), streams (1 to 64), buffers (1 or more) and "
                "bucket (1 B or more) must be positive");
  }
}

}  // namespace

Schedule plan(const Refit& refit, const Cluster& cluster, const Policy& policy,
              const PlanOptions& options) {
  check(refit, cluster, options);
  if (policy.rest == Strategy::optimal) return plan_optimal(refit, cluster, options.limits);
  std::vector<Parcel> parcels =
      find_parcels(refit, [&](const TensorClass& c) { return group_of(policy.of(c)); });
  set_chunks(options, parcels);
  ScheduleBuilder builder(refit, policy.name, std::move(parcels), 2 * options.streams);
  builder.set_caps(options.limits.caps(), options.limits.ctas.value_or(0));

  const std::vector<Rank> everyone = united(refit.sources, refit.destinations);
  const GroupId world = builder.group(everyone);

  builder.begin_phase("start");
  builder.compute({0, builder.next_round(0)}, Work::fixed, world, 1, 0);
  builder.barrier(world);

  // One strategy strictly after the other, as NeMo RL runs its bulk and its packed broadcast.
  for (const Strategy strategy : kOrder) {
    StrategyInput input{refit, cluster, options, {}, {}};
    std::vector<bool> mine;
    for (const TensorClass& c : refit.classes) mine.push_back(policy.of(c) == strategy);
    if (std::none_of(mine.begin(), mine.end(), [](bool m) { return m; })) continue;
    for (std::size_t p = 0; p < builder.parcels().size(); ++p) {
      if (builder.parcels()[p].group == group_of(strategy))
        input.parcels.push_back(ParcelId(static_cast<std::int64_t>(p)));
    }
    input.work = stage_work(refit, mine);

    if (strategy == Strategy::gather_broadcast) {
      gather_broadcast(input, builder);
    } else {
      strategy == Strategy::reshard ? reshard(input, builder) : direct(input, builder);
      land(0, refit, mine, builder);
    }
  }
  return std::move(builder).finish();
}

}  // namespace refit
