#pragma once

#include <cstddef>

namespace refit {

// What may be left out before a plan is simulated. Each is exact: every op starts and ends when it
// would have (up to rounding), whichever are on.
struct Reductions {
  bool merge = true;     // a transfer that takes over from another on the same path keeps its rate
  bool slack = true;     // links that can never be full
  bool quotient = true;  // of tasks and links that behave alike, one stands for all
};

inline constexpr Reductions kNoReductions{false, false, false};

// What they left out of one simulation.
struct ReductionReport {
  std::size_t tasks = 0;  // ops, and junctions between rounds
  std::size_t links = 0;  // that some task moves bytes over
  std::size_t slack_links = 0;
  std::size_t simulated_tasks = 0;  // after the quotient
  std::size_t simulated_links = 0;  // after both
  std::size_t merged = 0;           // starts of a flow that another handed its rate to
  bool merge = false;               // whether that one was looked for
};

}  // namespace refit
