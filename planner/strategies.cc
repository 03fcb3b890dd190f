#include "planner/strategies.h"

#include <algorithm>
#include <iterator>

namespace refit {

std::vector<Rank> united(const std::vector<Rank>& ranks, const std::vector<Rank>& more) {
  std::vector<Rank> all;
  all.reserve(ranks.size() + more.size());
  std::set_union(ranks.begin(), ranks.end(), more.begin(), more.end(), std::back_inserter(all));
  return all;
}

void begin_refit(int lane, const Refit& refit, const Around& around, bool starts,
                 ScheduleBuilder& builder) {
  const GroupId world = builder.group(united(refit.sources, refit.destinations));
  builder.begin_phase("start");
  if (around.pauses)
    builder.compute({lane, builder.next_round(lane)}, Work::pause,
                    builder.group(refit.destinations), 1, 0);
  if (starts) builder.compute({lane, builder.next_round(lane)}, Work::fixed, world, 1, 0);
  if (around.describes) {
    const std::vector<bool> all(refit.classes.size(), true);
    builder.compute({lane, builder.next_round(lane)}, Work::describe, world,
                    checkpoint_tensors(refit, all), 0);
  }
  builder.barrier(world);
}

void end_refit(int lane, const Refit& refit, const Around& around, ScheduleBuilder& builder) {
  if (!around.pauses) return;
  builder.barrier(builder.group(united(refit.sources, refit.destinations)));
  builder.begin_phase("resume");
  builder.compute({lane, builder.next_round(lane)}, Work::resume, builder.group(refit.destinations),
                  1, 0);
}

void convert(int lane, const std::vector<Rank>& ranks, const ConvertWork& work,
             ScheduleBuilder& builder) {
  if (work.bytes == 0) return;
  builder.compute({lane, builder.next_round(lane)}, Work::convert, builder.group(ranks), work.steps,
                  work.bytes);
}

void land(int lane, const Refit& refit, const std::vector<bool>& mine, ScheduleBuilder& builder,
          const Conduct& conduct, std::span<const double> shares) {
  const GroupId world = builder.group(united(refit.sources, refit.destinations));
  builder.barrier(world);
  builder.begin_phase("land");
  const GroupId engines = builder.group(refit.destinations);
  if (conduct.lands) {
    const LandWork work = land_work(refit, mine, shares);
    builder.compute({lane, builder.next_round(lane)}, Work::land, engines, work.runs, work.bytes);
  }
  const std::int64_t tensors = checkpoint_tensors(refit, mine);
  if (conduct.pulls) {
    builder.compute({lane, builder.next_round(lane)}, Work::pull, engines, tensors, 0);
    if (conduct.loads)
      builder.compute({lane, builder.next_round(lane)}, Work::load, engines, tensors, 0);
  }
  convert(lane, refit.destinations, convert_work(refit, mine, EdgeSide::destination), builder);
  builder.barrier(world);
}

int bucket_count(std::int64_t stage_bytes, std::int64_t bucket_bytes) {
  return static_cast<int>(
      std::max<std::int64_t>(1, (stage_bytes + bucket_bytes - 1) / bucket_bytes));
}

}  // namespace refit
