#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline.h"

namespace refit {

// What ops are told apart by.
struct StepDetail {
  bool stages = true;
  bool lanes = true;
};

inline constexpr int kAll = -1;      // of a kind that is not told apart
inline constexpr int kSeveral = -2;  // content of several stages in one op
inline constexpr int kNone = -3;     // no content

// Ops of one phase that do the same.
struct StepBox {
  int phase = 0;
  OpKind kind = OpKind::transfer;
  Work work = Work::none;
  int stage = kAll;
  int lane = kAll;
  std::int64_t ops = 0;
  std::int64_t waits_inside = 0;  // ops that wait for others of the box: relays
  double bytes = 0;               // of transfers and collectives
  Span span;                      // from the first begin to the last end
  double busy_s = 0;              // in which at least one runs
};

// How many ops of one box wait for ops of another.
struct StepEdge {
  std::int64_t after = 0;  // as the plan says
  std::int64_t lane = 0;   // since a rank's lane does one round after the other
};

struct StepBoxes {
  std::vector<StepBox> boxes;                                     // by phase, stage, lane
  std::map<std::pair<std::size_t, std::size_t>, StepEdge> edges;  // from the earlier

  // Whether `to` begins before `from`, whatever some of its ops wait for.
  bool goes_back(std::size_t from, std::size_t to) const {
    return boxes[to].span.start_s < boxes[from].span.start_s;
  }
};

StepBoxes step_boxes(const Schedule& schedule, const Timeline& timeline, const StepDetail& detail);

// Takes out what lanes' order says and other arrows say, too, in one step or several.
void drop_implied(StepBoxes& steps);

}  // namespace refit
