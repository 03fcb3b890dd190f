#include <algorithm>
#include <cmath>

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

struct Bucket {
  CargoId cargo;
  int chunk = 0, count = 1;  // of the buckets of its stage
  const StageWork* stage = nullptr;
  std::int64_t bytes = 0;

  std::int64_t share_of(std::int64_t pieces) const { return share(pieces, chunk, count); }
  ConvertWork share_of(const ConvertWork& work) const {
    return {share_of(work.steps), share_of(work.bytes)};
  }
};

std::vector<Bucket> buckets_of(const StrategyInput& input, int stage, ScheduleBuilder& builder) {
  const std::vector<ParcelId>& content = input.parcels[static_cast<std::size_t>(stage)];
  if (content.empty()) return {};
  std::int64_t bytes = 0;
  for (const ParcelId id : content) bytes += builder.parcels()[id.index()].bytes;
  const int count = builder.parcels()[content.front().index()].chunks;
  const CargoId cargo = builder.cargo(content);
  std::vector<Bucket> buckets;
  for (int b = 0; b < count; ++b) {
    buckets.push_back(
        {cargo, b, count, &input.work[static_cast<std::size_t>(stage)], share(bytes, b, count)});
  }
  return buckets;
}

// Buckets that are gathered one after the other and broadcast by senders that take turns.
struct Pipeline {
  GroupId trainers;  // gather
  struct Sender {
    Rank root;
    GroupId to;
    int lane = 0;
  };
  std::vector<Sender> senders;
  int gather_lane = 0;
  std::size_t buffers = 1;  // per sender
};

// By an engine, of all tensors: what is coded is coded as a whole.
std::int64_t landed(const StrategyInput& input) {
  return land_work(input.refit, std::vector<bool>(input.refit.classes.size(), true)).bytes;
}

class PackedBroadcast {
 public:
  PackedBroadcast(const StrategyInput& input, ScheduleBuilder& builder)
      : input_(input),
        conduct_(input.conduct),
        builder_(builder),
        engines_(builder.group(input.refit.destinations)),
        gather_(builder.begin_phase("gather")),
        broadcast_(builder.begin_phase("broadcast")) {}

  void run(const Pipeline& pipeline, const std::vector<Bucket>& buckets) {
    const std::size_t width = pipeline.senders.size();
    std::vector<OpId> sent;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      // Buffers are filled again when the last of all senders' turns with them is over.
      std::vector<OpId> free;
      const std::size_t turn = b / width;
      for (std::size_t k = 0; turn >= pipeline.buffers && k < width; ++k)
        free.push_back(sent[(turn - pipeline.buffers) * width + k]);
      sent.push_back(move(pipeline, pipeline.senders[b % width], buckets[b], free));
    }
  }

 private:
  Slot on(int lane) const { return {lane, builder_.next_round(lane)}; }

  OpId move(const Pipeline& pipeline, const Pipeline::Sender& sender, const Bucket& bucket,
            const std::vector<OpId>& free) {
    const ChunkRange chunk{bucket.chunk, bucket.chunk + 1};
    const StageWork& work = *bucket.stage;
    const int lane = pipeline.gather_lane;
    builder_.continue_phase(gather_);
    convert(lane, work.sources, bucket.share_of(work.convert_before), builder_);
    builder_.compute(on(lane), Work::export_tensors, pipeline.trainers,
                     conduct_.exports ? bucket.share_of(work.exports) : 0, 0, free);
    if (builder_.coding()) {
      const std::int64_t shard = bucket.share_of(work.packed_bytes);
      builder_.compute(on(lane), Work::scan, builder_.group(work.sources), 1, shard);
      builder_.compute(on(lane), Work::encode, builder_.group(work.sources), 1, shard);
    }
    const std::int64_t tensors = bucket.share_of(work.checkpoint_tensors);
    if (conduct_.yields) builder_.compute(on(lane), Work::yield, pipeline.trainers, tensors, 0);
    std::vector<OpId> ready = {
        builder_.all_gather(on(lane), pipeline.trainers, bucket.cargo, chunk)};
    if (conduct_.assembles) {
      ready.push_back(
          builder_.compute(on(lane), Work::assemble, pipeline.trainers, 1, bucket.bytes, ready));
    }
    builder_.continue_phase(broadcast_);
    const OpId sent =
        builder_.broadcast(on(sender.lane), sender.root, sender.to, bucket.cargo, chunk, ready,
                           conduct_.streamed ? Work::stream : Work::none);
    if (builder_.coding()) decode(sender.lane, bucket);
    if (conduct_.loads) builder_.compute(on(sender.lane), Work::load, engines_, tensors, 0);
    convert(sender.lane, input_.refit.destinations, bucket.share_of(work.convert_after), builder_);
    if (conduct_.waits_for_load)
      builder_.barrier(builder_.group(united(input_.refit.sources, input_.refit.destinations)));
    return sent;
  }

  // Every engine reads all changes and keeps those of its own shard.
  void decode(int lane, const Bucket& bucket) {
    const std::int64_t content = share(bucket.stage->bytes, bucket.chunk, bucket.count);
    builder_.compute(on(lane), Work::decode, engines_, 1, content);
    if (builder_.coding()->staged) return;
    const double part =
        static_cast<double>(content) / static_cast<double>(input_.refit.unique_bytes());
    builder_.compute(on(lane), Work::apply, engines_, 1,
                     std::llround(part * static_cast<double>(landed(input_))));
  }

  const StrategyInput& input_;
  const Conduct& conduct_;
  ScheduleBuilder& builder_;
  const GroupId engines_;
  const int gather_, broadcast_;  // phases
};

std::vector<Rank> with_engines(Rank root, const StrategyInput& input) {
  return united({root}, input.refit.destinations);
}

void append(std::vector<Bucket>& all, std::vector<Bucket> more) {
  all.insert(all.end(), more.begin(), more.end());
}

// One stage after the other, by one sender or by the trainers of one node.
void stage_after_stage(const StrategyInput& input, ScheduleBuilder& builder) {
  PackedBroadcast broadcast(input, builder);
  const Group grid = trainer_grid(input);
  Pipeline pipeline;
  pipeline.trainers = builder.group(grid.ranks, grid.width);
  const int buffers = input.conduct.buffers.value_or(input.options.buffers);
  pipeline.buffers = static_cast<std::size_t>(buffers);
  // With one buffer every bucket is exported, gathered, broadcast and loaded on one lane. With
  // more, gathering fills a buffer on the first lane while another is broadcast on the second.
  const Rank root = grid.ranks.front();
  switch (input.conduct.senders) {
    case Senders::node:
      for (const Rank rank : node_senders(input)) {
        const auto lane = 1 + static_cast<int>(pipeline.senders.size());
        pipeline.senders.push_back({rank, builder.group(with_engines(rank, input)), lane});
      }
      break;
    case Senders::one:
      pipeline.senders = {{root, builder.group(with_engines(root, input)), buffers > 1 ? 1 : 0}};
      break;
    default:
      const std::vector<Rank> world = united(input.refit.sources, input.refit.destinations);
      pipeline.senders = {{root, builder.group(world), buffers > 1 ? 1 : 0}};
  }
  std::vector<Bucket> buckets;
  for (int stage = 0; stage < input.refit.stages; ++stage)
    append(buckets, buckets_of(input, stage, builder));
  broadcast.run(pipeline, buckets);
}

// Every stage gathers and broadcasts by itself.
void stages_side_by_side(const StrategyInput& input, ScheduleBuilder& builder) {
  PackedBroadcast broadcast(input, builder);
  int turn = 0;
  for (int stage = 0; stage < input.refit.stages; ++stage) {
    const std::vector<Bucket> buckets = buckets_of(input, stage, builder);
    if (buckets.empty()) continue;
    const std::vector<Rank>& sources = input.work[static_cast<std::size_t>(stage)].sources;
    Pipeline pipeline;
    pipeline.trainers = builder.group(sources);
    pipeline.gather_lane = 2 * turn++;
    pipeline.buffers =
        static_cast<std::size_t>(input.conduct.buffers.value_or(input.options.buffers));
    const Rank head = sources.front();
    pipeline.senders = {{head, builder.group(with_engines(head, input)),
                         pipeline.gather_lane + (pipeline.buffers > 1 ? 1 : 0)}};
    broadcast.run(pipeline, buckets);
  }
}

}  // namespace

std::vector<Rank> node_senders(const StrategyInput& input) {
  const std::vector<Rank> trainers = trainer_grid(input).ranks;
  std::vector<Rank> senders;
  for (const Rank rank : trainers) {
    if (input.cluster.node(rank) == input.cluster.node(trainers.front())) senders.push_back(rank);
  }
  return senders;
}

// Bucket by bucket: trainers gather the whole content, then a sender broadcasts it to the engines,
// which load it tensor by tensor.
void gather_broadcast(const StrategyInput& input, ScheduleBuilder& builder) {
  if (input.conduct.senders == Senders::stage_heads) {
    stages_side_by_side(input, builder);
  } else {
    stage_after_stage(input, builder);
  }
  if (!builder.coding() || !builder.coding()->staged) return;
  builder.barrier(builder.group(united(input.refit.sources, input.refit.destinations)));
  builder.begin_phase("apply");
  builder.compute({0, builder.next_round(0)}, Work::apply, builder.group(input.refit.destinations),
                  1, landed(input));
}

}  // namespace refit
