#include <algorithm>
#include <vector>

#include "planner/replica_choice.h"
#include "planner/strategies.h"

namespace refit {
namespace {

// What one rank takes of one owner.
struct Delivery {
  Rank src, dst;
  ParcelId parcel;

  friend auto operator<=>(const Delivery&, const Delivery&) = default;
};

std::vector<Delivery> deliveries_of(const std::vector<ParcelId>& ids,
                                    const std::vector<Parcel>& parcels) {
  std::vector<Delivery> deliveries;
  for (const ParcelId id : ids) {
    const Parcel& parcel = parcels[id.index()];
    const std::vector<Rank> takers = takers_of(parcel);
    for (std::size_t t = 0; t < takers.size(); ++t) {
      const int owner =
          balanced_owner(static_cast<int>(parcel.owners.size()), static_cast<int>(takers.size()),
                         static_cast<int>(t), ReplicaBalance::uniform);
      deliveries.push_back({parcel.owners[static_cast<std::size_t>(owner)], takers[t], id});
    }
  }
  return deliveries;
}

// One transfer per pair of ranks, by sender and receiver.
void send_all(const std::vector<ParcelId>& ids, Slot slot, ScheduleBuilder& builder) {
  std::vector<Delivery> deliveries = deliveries_of(ids, builder.parcels());
  std::sort(deliveries.begin(), deliveries.end());
  for (auto next = deliveries.begin(); next != deliveries.end();) {
    const Delivery first = *next;
    std::vector<ParcelId> cargo;
    for (; next != deliveries.end() && next->src == first.src && next->dst == first.dst; ++next)
      cargo.push_back(next->parcel);
    builder.transfer(slot, first.src, first.dst, builder.cargo(std::move(cargo)), {0, 1});
  }
}

// What trainers do with a stage before it is sent.
void prepare(int lane, const StageWork& work, const Conduct& conduct, ScheduleBuilder& builder) {
  const GroupId sources = builder.group(work.sources);
  const auto step = [&](Work what, std::int64_t count, std::int64_t bytes) {
    builder.compute({lane, builder.next_round(lane)}, what, sources, count, bytes);
  };
  if (conduct.stacks) step(Work::stack, work.stacked_calls, 0);
  if (!conduct.through_host) return;
  // Whole tensors are exported; each trainer cuts its part of them.
  if (conduct.exports) step(Work::export_tensors, work.exports, 0);
  if (conduct.yields) step(Work::yield, work.checkpoint_tensors, 0);
  step(Work::host, 1, work.bytes / static_cast<std::int64_t>(work.sources.size()));
}

}  // namespace

// Every destination rank gets its parcels straight from an owner; nobody relays and nothing is
// fanned out, so each replica costs the network a copy.
void direct(const StrategyInput& input, ScheduleBuilder& builder) {
  builder.begin_phase("direct");
  for_each_stage(input, [&](int stage, const StageWork& work, int stream) {
    const int lane = network_lane(stream);

    const std::vector<Rank> everyone = united(work.sources, input.refit.destinations);
    convert(lane, work.sources, work.convert_before, builder);
    prepare(lane, work, input.conduct, builder);
    builder.compute({lane, builder.next_round(lane)}, Work::call, builder.group(everyone),
                    work.calls, 0);

    send_all(input.parcels[static_cast<std::size_t>(stage)], {lane, builder.next_round(lane)},
             builder);
  });
}

}  // namespace refit
