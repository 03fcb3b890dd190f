#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/refit.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"

namespace refit {

// What a rank does while an op runs, as far as a timeline tells it apart.
enum class Activity { work, send, receive, collective, barrier };
inline constexpr std::size_t kActivities = 5;
std::string_view to_string(Activity activity);

// One op on one rank and lane.
struct TimelineBar {
  OpId op;
  Activity activity = Activity::work;
  Span span;
  int track = 0;  // ops of a lane that run at the same time lie one under the other
};

// All ops of one lane of one rank.
struct LaneRow {
  Rank rank;
  int lane = 0;
  int tracks = 1;
  std::vector<TimelineBar> bars;  // by start
  std::size_t left_out = 0;       // the shortest, where there are too many to draw
};

// Neighbouring ranks as one row: which share of them does something, over equal parts of the time.
struct GroupRow {
  Rank first;
  int ranks = 0;
  std::vector<std::vector<double>> busy;  // by activity (no barriers), then by part; 0 to 1
};

// When who does what. Everything where that can be drawn; else groups of ranks, and the lanes of a
// few ranks that tell most.
struct TimelinePicture {
  double end_s = 0;
  std::vector<LaneRow> lanes;
  std::vector<GroupRow> groups;  // empty: `lanes` has all ranks
};

inline constexpr std::size_t kMostBars = 4000;
inline constexpr std::size_t kMostBarsOfLane = 500;
inline constexpr std::size_t kMostLaneRows = 48;
inline constexpr int kMostGroupRows = 64;
inline constexpr int kTimelineParts = 240;

// `telling`: the ranks to draw alone where not all can be, the most telling first; `unit`: groups
// are multiples of so many ranks where there is room.
TimelinePicture timeline_picture(const Schedule& schedule, const Timeline& timeline,
                                 std::span<const Rank> telling, int unit);

}  // namespace refit
