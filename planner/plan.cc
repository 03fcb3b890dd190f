#include "planner/plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "models/parcels.h"
#include "planner/optimal/optimal.h"
#include "planner/payloads.h"
#include "planner/stage_work.h"
#include "planner/strategies.h"
#include "schedule/builder.h"
#include "sim/predict.h"

namespace refit {
namespace {

constexpr Strategy kOrder[] = {Strategy::reshard,          Strategy::stripe,
                               Strategy::direct,           Strategy::owner_broadcast,
                               Strategy::gather_broadcast, Strategy::object_store,
                               Strategy::relay_tree};

int group_of(Strategy strategy) { return static_cast<int>(strategy); }

// Reshard cuts every parcel into pipeline chunks; gather_broadcast cuts a stage into buckets.
void set_chunks(const PlanOptions& options, std::vector<Parcel>& parcels) {
  std::vector<std::int64_t> stage_bytes;
  for (const Parcel& parcel : parcels) {
    if (parcel.group != group_of(Strategy::gather_broadcast)) continue;
    const auto stage = static_cast<std::size_t>(parcel.stage);
    if (stage_bytes.size() <= stage) stage_bytes.resize(stage + 1, 0);
    stage_bytes[stage] += wire_bytes(parcel);
  }
  for (Parcel& parcel : parcels) {
    if (parcel.group == group_of(Strategy::reshard)) parcel.chunks = options.chunks;
    if (parcel.group == group_of(Strategy::stripe))
      parcel.chunks = static_cast<int>(std::max<std::size_t>(1, takers_of(parcel).size()));
    if (parcel.group == group_of(Strategy::gather_broadcast)) {
      parcel.chunks =
          bucket_count(stage_bytes[static_cast<std::size_t>(parcel.stage)], options.bucket_bytes);
    }
  }
}

void check(const Refit& refit, const Cluster& cluster, const PlanOptions& options) {
  if (refit.classes.empty()) throw Error(ErrorCode::bad_input, "there is no tensor to move");
  if (refit.ranks > cluster.ranks()) {
    throw Error(ErrorCode::bad_input,
                fmt::format("the layouts name {} ranks but the cluster has {} GPUs", refit.ranks,
                            cluster.ranks()));
  }
  if (options.chunks < 1 || options.chunks > 4096 || options.streams < 1 || options.streams > 64 ||
      options.buffers < 1 || options.payload_bytes < 1 || options.in_flight < 1 ||
      options.in_flight > 1024 || options.bucket_bytes < 1 || options.injected_domains < 0) {
    throw Error(ErrorCode::bad_input,
                "plan: chunks (1 to 4096), streams (1 to 64), buffers (1 or more) and "
                "bucket (1 B or more) must be positive, payload 1 B or more and in_flight 1 to "
                "1024");
  }
}

bool sends_payloads(Strategy strategy) {
  return strategy == Strategy::object_store || strategy == Strategy::relay_tree;
}

int most_trainers_of_a_node(const Refit& refit, const Cluster& cluster) {
  std::map<NodeId, int> trainers;
  int most = 0;
  for (const Rank rank : refit.sources) most = std::max(most, ++trainers[cluster.node(rank)]);
  return most;
}

// Two per stream; packed broadcasts side by side need two per stage, or one per sender.
int lanes(const Refit& refit, const Cluster& cluster, const Conduct& conduct,
          const PlanOptions& options) {
  const int streams = 2 * conduct.streams.value_or(options.streams);
  switch (conduct.senders) {
    case Senders::stage_heads:
      return std::max(streams, 2 * refit.stages);
    case Senders::node:
      return std::max(streams, 1 + most_trainers_of_a_node(refit, cluster));
    default:
      return streams;
  }
}

void run(Strategy strategy, const StrategyInput& input, ScheduleBuilder& builder) {
  switch (strategy) {
    case Strategy::gather_broadcast:
      return gather_broadcast(input, builder);
    case Strategy::direct:
      return direct(input, builder);
    case Strategy::owner_broadcast:
      return owner_broadcast(input, builder);
    case Strategy::reshard:
      return reshard(input, builder);
    case Strategy::stripe:
      return stripe(input, builder);
    case Strategy::object_store:
      return object_store(input, builder);
    case Strategy::relay_tree:
      return relay_tree(input, builder);
    case Strategy::optimal:
      break;  // plans whole refits, in plan()
  }
}

// By wires alone, of two ways that differ in nothing else.
Schedule faster_relays(const Refit& refit, const Cluster& cluster, const Policy& policy,
                       PlanOptions options) {
  options.relay = Relay::tree;
  Schedule tree = plan(refit, cluster, policy, options);
  options.relay = Relay::ring;
  Schedule ring = plan(refit, cluster, policy, options);
  const bool take_tree = predict(tree, cluster).makespan_s <= predict(ring, cluster).makespan_s;
  return take_tree ? std::move(tree) : std::move(ring);
}

}  // namespace

Schedule plan(const Refit& refit, const Cluster& cluster, const Policy& policy,
              const PlanOptions& options) {
  check(refit, cluster, options);
  if (policy.rest == Strategy::relay_tree && options.relay == Relay::fastest)
    return faster_relays(refit, cluster, policy, options);
  const DeltaOptions* const delta = policy.coded && options.delta ? &*options.delta : nullptr;
  if (policy.coded && delta == nullptr) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{} sends what has changed, but the scenario has no `delta` that says "
                            "how much that is",
                            policy.name));
  }
  if (policy.rest == Strategy::optimal)
    return plan_optimal(refit, cluster, options.limits, delta, options.around);
  std::vector<Parcel> parcels =
      find_parcels(refit, [&](const TensorClass& c) { return group_of(policy.of(c)); });
  if (delta != nullptr) code_parcels(refit, *delta, parcels);
  set_chunks(options, parcels);
  const bool in_payloads = sends_payloads(policy.rest);
  if (in_payloads) cut_in_payloads(refit, cluster, options, policy.conduct.everything, parcels);
  ScheduleBuilder builder(
      refit, policy.name, std::move(parcels),
      in_payloads ? int{kPayloadLanes} : lanes(refit, cluster, policy.conduct, options));
  builder.set_caps(options.limits.caps(), options.limits.ctas.value_or(0));

  if (delta != nullptr) builder.set_coding(delta->coding);

  begin_refit(0, refit, options.around, policy.conduct.start, builder);

  // One strategy strictly after the other, as NeMo RL runs its bulk and its packed broadcast.
  for (const Strategy strategy : kOrder) {
    StrategyInput input{refit, cluster, options, policy.conduct, {}, {}};
    std::vector<bool> mine;
    for (const TensorClass& c : refit.classes) mine.push_back(policy.of(c) == strategy);
    if (std::none_of(mine.begin(), mine.end(), [](bool m) { return m; })) continue;
    input.parcels.resize(static_cast<std::size_t>(refit.stages));
    for (std::size_t p = 0; p < builder.parcels().size(); ++p) {
      const Parcel& parcel = builder.parcels()[p];
      if (parcel.group != group_of(strategy)) continue;
      input.parcels[static_cast<std::size_t>(parcel.stage)].emplace_back(
          static_cast<std::int64_t>(p));
    }
    input.work = stage_work(refit, mine);

    run(strategy, input, builder);
    const bool lands = strategy == Strategy::reshard || strategy == Strategy::stripe ||
                       strategy == Strategy::direct || sends_payloads(strategy);
    if (!lands) continue;
    const std::span<const double> shares =
        delta != nullptr ? std::span<const double>(delta->shares) : std::span<const double>();
    land(0, refit, mine, builder, policy.conduct, shares);
  }
  end_refit(0, refit, options.around, builder);
  return std::move(builder).finish();
}

}  // namespace refit
