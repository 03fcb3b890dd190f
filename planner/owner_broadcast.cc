#include <algorithm>
#include <map>

#include "planner/strategies.h"

namespace refit {
namespace {

// What one rank is to broadcast of a stage.
using Shards = std::map<Rank, std::vector<ParcelId>>;

Shards shards_of(const StrategyInput& input, const ScheduleBuilder& builder, int stage) {
  Shards shards;
  for (const ParcelId id : input.parcels[static_cast<std::size_t>(stage)])
    shards[builder.parcels()[id.index()].owners.front()].push_back(id);
  return shards;
}

std::int64_t bytes_of(const std::vector<ParcelId>& parcels, const ScheduleBuilder& builder) {
  std::int64_t bytes = 0;
  for (const ParcelId id : parcels) bytes += builder.parcels()[id.index()].bytes;
  return bytes;
}

}  // namespace

// Stage by stage, in streams: the first owner of every shard broadcasts it to all engines. Nothing
// is gathered before, and every engine gets everything.
void owner_broadcast(const StrategyInput& input, ScheduleBuilder& builder) {
  const Conduct& conduct = input.conduct;
  builder.begin_phase("broadcast");
  const GroupId engines = builder.group(input.refit.destinations);
  const Work how = conduct.streamed ? Work::stream : Work::none;
  for_each_stage(input, [&](int stage, const StageWork& work, int stream) {
    const int lane = network_lane(stream);
    // From host memory the next shard is brought up while one is sent.
    const int host_lane = conduct.through_host ? nvlink_lane(stream) : lane;
    const std::vector<Rank> everyone = united(work.sources, input.refit.destinations);
    convert(lane, work.sources, work.convert_before, builder);
    builder.compute({lane, builder.next_round(lane)}, Work::call, builder.group(everyone),
                    work.shard_calls, 0);
    const Shards shards = shards_of(input, builder, stage);
    const std::int64_t senders = static_cast<std::int64_t>(shards.size());
    std::int64_t sender = 0;
    for (const auto& [owner, parcels] : shards) {
      std::vector<OpId> ready;
      if (conduct.through_host) {
        ready = {builder.compute({host_lane, builder.next_round(host_lane)}, Work::host,
                                 builder.group({owner}), 1, bytes_of(parcels, builder))};
      }
      const GroupId to = builder.group(conduct.senders == Senders::trainers
                                           ? everyone
                                           : united({owner}, input.refit.destinations));
      builder.broadcast({lane, builder.next_round(lane)}, owner, to, builder.cargo(parcels), {0, 1},
                        ready, how);
      if (conduct.loads) {
        builder.compute({lane, builder.next_round(lane)}, Work::load, engines,
                        share(work.checkpoint_tensors, sender, senders), 0);
      }
      ++sender;
    }
    convert(lane, input.refit.destinations, work.convert_after, builder);
  });
}

}  // namespace refit
