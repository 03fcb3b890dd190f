#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/refit.h"
#include "planner/plan.h"
#include "planner/stage_work.h"
#include "schedule/builder.h"
#include "topology/cluster.h"

namespace refit {

// What every strategy is given: the question, and its own part of the tensors.
struct StrategyInput {
  const Refit& refit;
  const Cluster& cluster;
  const PlanOptions& options;
  const Conduct& conduct;
  // Per stage, of this strategy's tensors.
  std::vector<std::vector<ParcelId>> parcels;
  std::vector<StageWork> work;

  int streams() const { return conduct.streams.value_or(options.streams); }
};

// Stages with something to send, in order, dealt out to the streams: each(stage, work, stream).
template <class Each>
void for_each_stage(const StrategyInput& input, const Each& each) {
  int turn = 0;
  for (int stage = 0; stage < input.refit.stages; ++stage) {
    const StageWork& work = input.work[static_cast<std::size_t>(stage)];
    if (work.calls > 0) each(stage, work, turn++ % input.streams());
  }
}

// Part `part` of `parts` of a count, so that all parts sum to it.
inline std::int64_t share(std::int64_t count, std::int64_t part, std::int64_t parts) {
  return count * (part + 1) / parts - count * part / parts;
}

// The ranks of both ascending lists, each once.
std::vector<Rank> united(const std::vector<Rank>& ranks, const std::vector<Rank>& more);

// The phases before all transfers and after all of them, with a barrier between them and these.
void begin_refit(int lane, const Refit& refit, const Around& around, bool starts,
                 ScheduleBuilder& builder);
void end_refit(int lane, const Refit& refit, const Around& around, ScheduleBuilder& builder);

// What `ranks` convert, next on a lane. No op if that is nothing.
void convert(int lane, const std::vector<Rank>& ranks, const ConvertWork& work,
             ScheduleBuilder& builder);

// The software after a strategy's transfers, in a phase of its own: unpacking, copies, conversions
// of the classes that are `mine`, on a lane of the destinations. `shares` as for stage_work.
void land(int lane, const Refit& refit, const std::vector<bool>& mine, ScheduleBuilder& builder,
          const Conduct& conduct = {}, std::span<const double> shares = {});

// Lanes: stream i has lane 2 i for the network and lane 2 i + 1 for NVLink.
inline int network_lane(int stream) { return 2 * stream; }
inline int nvlink_lane(int stream) { return 2 * stream + 1; }

// Each appends its ops to the plan. All parcels of one call have their `chunks` set by plan().
void reshard(const StrategyInput& input, ScheduleBuilder& builder);
void direct(const StrategyInput& input, ScheduleBuilder& builder);
void gather_broadcast(const StrategyInput& input, ScheduleBuilder& builder);
void owner_broadcast(const StrategyInput& input, ScheduleBuilder& builder);
void stripe(const StrategyInput& input, ScheduleBuilder& builder);
void object_store(const StrategyInput& input, ScheduleBuilder& builder);
void relay_tree(const StrategyInput& input, ScheduleBuilder& builder);

// Who lacks what they demand, ascending.
std::vector<Rank> takers_of(const Parcel& parcel);

// Of packed broadcasts whose trainers take turns: those of the first one's node.
std::vector<Rank> node_senders(const StrategyInput& input);

// Buckets that gather_broadcast cuts the content of one stage into.
int bucket_count(std::int64_t stage_bytes, std::int64_t bucket_bytes);

}  // namespace refit
