#include <algorithm>

#include "planner/strategies.h"

namespace refit {
namespace {

// The trainers that hold something to gather, as a grid with one row per pipeline stage if the
// stages are equal and disjoint, else in one row.
Group trainer_grid(const StrategyInput& input) {
  Group grid;
  std::vector<Rank> distinct;
  bool equal = true;
  for (const StageWork& stage : input.work) {
    if (stage.sources.empty()) continue;
    const int width = static_cast<int>(stage.sources.size());
    if (grid.width == 0) grid.width = width;
    equal = equal && width == grid.width;
    grid.ranks.insert(grid.ranks.end(), stage.sources.begin(), stage.sources.end());
  }
  distinct = grid.ranks;
  std::sort(distinct.begin(), distinct.end());
  const auto end = std::unique(distinct.begin(), distinct.end());
  if (equal && end == distinct.end()) return grid;
  distinct.erase(end, distinct.end());
  const int width = static_cast<int>(distinct.size());
  return {std::move(distinct), width};
}

// Part `part` of `parts` of a count, so that all parts sum to it.
std::int64_t share(std::int64_t count, int part, int parts) {
  return count * (part + 1) / parts - count * part / parts;
}

}  // namespace

// Bucket by bucket: every trainer gets the whole content, then the first trainer broadcasts it to
// all trainers and engines, which load it tensor by tensor.
void gather_broadcast(const StrategyInput& input, ScheduleBuilder& builder) {
  const std::vector<Rank> everyone = united(input.refit.sources, input.refit.destinations);
  const GroupId world = builder.group(everyone);
  const GroupId engines = builder.group(input.refit.destinations);
  const Group grid = trainer_grid(input);
  const GroupId trainers = builder.group(grid.ranks, grid.width);
  const Rank root = grid.ranks.front();

  struct Bucket {
    CargoId cargo;
    int chunk = 0, count = 1;  // of the buckets of its stage
    const StageWork* stage = nullptr;

    std::int64_t share_of(std::int64_t pieces) const { return share(pieces, chunk, count); }
    ConvertWork share_of(const ConvertWork& work) const {
      return {share_of(work.steps), share_of(work.bytes)};
    }
  };
  std::vector<Bucket> buckets;
  for (int stage = 0; stage < input.refit.stages; ++stage) {
    std::vector<ParcelId> content;
    for (const ParcelId id : input.parcels) {
      if (builder.parcels()[id.index()].stage == stage) content.push_back(id);
    }
    if (content.empty()) continue;
    const int count = builder.parcels()[content.front().index()].chunks;
    const CargoId cargo = builder.cargo(std::move(content));
    const StageWork& work = input.work[static_cast<std::size_t>(stage)];
    for (int b = 0; b < count; ++b) {
      buckets.push_back({cargo, b, count, &work});
    }
  }

  // With one buffer every bucket is exported, gathered, broadcast and loaded on one lane. With
  // more, gathering fills a buffer on the first lane while another is broadcast on the second.
  const int gather_lane = 0;
  const int broadcast_lane = input.options.buffers > 1 ? 1 : 0;
  const int gather = builder.begin_phase("gather");
  const int broadcast = builder.begin_phase("broadcast");
  std::vector<OpId> broadcast_of;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const Bucket& bucket = buckets[b];
    const ChunkRange chunk{bucket.chunk, bucket.chunk + 1};
    std::vector<OpId> buffer_free;
    const auto buffers = static_cast<std::size_t>(input.options.buffers);
    if (b >= buffers) buffer_free.push_back(broadcast_of[b - buffers]);

    builder.continue_phase(gather);
    const StageWork& work = *bucket.stage;
    convert(gather_lane, work.sources, bucket.share_of(work.convert_before), builder);
    builder.compute({gather_lane, builder.next_round(gather_lane)}, Work::export_tensors, trainers,
                    bucket.share_of(work.exports), 0, buffer_free);
    const OpId gathered = builder.all_gather({gather_lane, builder.next_round(gather_lane)},
                                             trainers, bucket.cargo, chunk);
    builder.continue_phase(broadcast);
    broadcast_of.push_back(builder.broadcast({broadcast_lane, builder.next_round(broadcast_lane)},
                                             root, world, bucket.cargo, chunk, {gathered}));
    builder.compute({broadcast_lane, builder.next_round(broadcast_lane)}, Work::load, engines,
                    bucket.share_of(work.checkpoint_tensors), 0);
    convert(broadcast_lane, input.refit.destinations, bucket.share_of(work.convert_after), builder);
  }
}

}  // namespace refit
