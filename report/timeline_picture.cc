#include "report/timeline_picture.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"

namespace refit {
namespace {

Activity activity_of(const Op& op, Rank rank) {
  switch (op.kind) {
    case OpKind::transfer:
      return op.src == rank ? Activity::send : Activity::receive;
    case OpKind::compute:
      return Activity::work;
    case OpKind::barrier:
      return Activity::barrier;
    case OpKind::all_gather:
    case OpKind::broadcast:
      return Activity::collective;
  }
  return Activity::work;
}

// Calls `with` for each rank that takes part.
template <class With>
void each_rank(const Op& op, const Schedule& schedule, const With& with) {
  if (op.kind == OpKind::transfer) {
    with(op.src);
    if (op.dst != op.src) with(op.dst);
    return;
  }
  for (const Rank rank : schedule.groups[op.group.index()].ranks) with(rank);
}

std::size_t ranks_of(const Op& op, const Schedule& schedule) {
  if (op.kind == OpKind::transfer) return op.dst != op.src ? 2 : 1;
  return schedule.groups[op.group.index()].ranks.size();
}

// Keeps the longest bars, and puts each on the first track that is free when it starts.
void arrange(LaneRow& row) {
  if (row.bars.size() > kMostBarsOfLane) {
    std::stable_sort(row.bars.begin(), row.bars.end(),
                     [](const TimelineBar& a, const TimelineBar& b) {
                       return a.span.end_s - a.span.start_s > b.span.end_s - b.span.start_s;
                     });
    row.left_out = row.bars.size() - kMostBarsOfLane;
    row.bars.resize(kMostBarsOfLane);
  }
  std::sort(row.bars.begin(), row.bars.end(), [](const TimelineBar& a, const TimelineBar& b) {
    return std::pair(a.span.start_s, a.op) < std::pair(b.span.start_s, b.op);
  });
  constexpr std::size_t kMostTracks = 4;
  std::vector<double> free_at;
  for (TimelineBar& bar : row.bars) {
    std::size_t track = 0;
    while (track < free_at.size() && free_at[track] > bar.span.start_s) ++track;
    if (track == free_at.size() && track < kMostTracks) free_at.push_back(0);
    if (track == kMostTracks)  // all are taken: over the one that ends first
      track = static_cast<std::size_t>(std::min_element(free_at.begin(), free_at.end()) -
                                       free_at.begin());
    free_at[track] = std::max(free_at[track], bar.span.end_s);
    bar.track = static_cast<int>(track);
  }
  row.tracks = std::max<int>(1, static_cast<int>(free_at.size()));
}

std::vector<LaneRow> lane_rows(const Schedule& schedule, const Timeline& timeline,
                               const std::vector<bool>& drawn) {
  std::map<std::pair<Rank, int>, LaneRow> rows;
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    each_rank(op, schedule, [&](Rank rank) {
      if (!drawn[rank.index()]) return;
      LaneRow& row = rows[{rank, op.lane}];
      row.rank = rank;
      row.lane = op.lane;
      row.bars.push_back(
          {OpId(static_cast<std::int64_t>(id)), activity_of(op, rank), timeline[id], 0});
    });
  }
  std::vector<LaneRow> result;
  for (auto& [key, row] : rows) {
    arrange(row);
    result.push_back(std::move(row));
  }
  return result;
}

// Adds `ranks` ranks that are busy from start to end to the parts of the time.
void add_span(const Span& span, double part_s, double ranks, std::vector<double>& busy) {
  const auto last = static_cast<std::size_t>(kTimelineParts - 1);
  const auto first = std::min(last, static_cast<std::size_t>(span.start_s / part_s));
  for (std::size_t p = first; p <= last; ++p) {
    const double from = std::max(span.start_s, static_cast<double>(p) * part_s);
    const double to = std::min(span.end_s, static_cast<double>(p + 1) * part_s);
    if (to <= from) break;
    busy[p] += ranks * (to - from) / part_s;
  }
}

std::vector<GroupRow> group_rows(const Schedule& schedule, const Timeline& timeline, double end_s,
                                 int unit) {
  const int at_least = (schedule.ranks + kMostGroupRows - 1) / kMostGroupRows;
  const int size = (at_least + unit - 1) / unit * unit;
  std::vector<GroupRow> rows;
  for (int first = 0; first < schedule.ranks; first += size) {
    const int ranks = std::min(size, schedule.ranks - first);
    rows.push_back({Rank(first), ranks,
                    std::vector<std::vector<double>>(kActivities - 1,
                                                     std::vector<double>(kTimelineParts, 0))});
  }
  // How many ranks of each row are in a group, once for all ops of the group.
  std::vector<std::map<std::size_t, int>> members(schedule.groups.size());
  for (std::size_t g = 0; g < schedule.groups.size(); ++g)
    for (const Rank rank : schedule.groups[g].ranks)
      ++members[g][rank.index() / static_cast<std::size_t>(size)];
  const double part_s = end_s / kTimelineParts;
  const auto add = [&](std::size_t row, Activity activity, const Span& span, double ranks) {
    add_span(span, part_s, ranks / rows[row].ranks,
             rows[row].busy[static_cast<std::size_t>(activity)]);
  };
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (op.kind == OpKind::barrier) continue;
    if (op.kind == OpKind::transfer) {
      add(op.src.index() / static_cast<std::size_t>(size), Activity::send, timeline[id], 1);
      add(op.dst.index() / static_cast<std::size_t>(size), Activity::receive, timeline[id], 1);
      continue;
    }
    for (const auto& [row, ranks] : members[op.group.index()])
      add(row, activity_of(op, {}), timeline[id], ranks);
  }
  for (GroupRow& row : rows)
    for (std::vector<double>& busy : row.busy)
      for (double& share : busy) share = std::min(1.0, share);  // of ops that overlap on a rank
  return rows;
}

}  // namespace

std::string_view to_string(Activity activity) {
  constexpr std::string_view kWords[] = {"work", "send", "receive", "collective", "barrier"};
  return kWords[static_cast<std::size_t>(activity)];
}

TimelinePicture timeline_picture(const Schedule& schedule, const Timeline& timeline,
                                 std::span<const Rank> telling, int unit) {
  REFIT_CHECK(timeline.size() == schedule.ops.size() && unit > 0);
  TimelinePicture picture;
  for (const Span& span : timeline) picture.end_s = std::max(picture.end_s, span.end_s);
  std::size_t bars = 0;
  std::set<std::pair<Rank, int>> rows;
  for (const Op& op : schedule.ops) {
    bars += ranks_of(op, schedule);
    if (rows.size() <= kMostLaneRows)
      each_rank(op, schedule, [&](Rank rank) { rows.insert({rank, op.lane}); });
  }
  std::vector<bool> drawn(static_cast<std::size_t>(schedule.ranks), true);
  if (bars > kMostBars || rows.size() > kMostLaneRows) {
    drawn.assign(drawn.size(), false);
    for (const Rank rank : telling) drawn[rank.index()] = true;
    if (picture.end_s > 0) picture.groups = group_rows(schedule, timeline, picture.end_s, unit);
  }
  picture.lanes = lane_rows(schedule, timeline, drawn);
  return picture;
}

}  // namespace refit
