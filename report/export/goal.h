#pragma once

#include <iosfwd>
#include <vector>

#include "report/export/rank_events.h"

namespace refit {

// The ranks' messages and work in GOAL, the text that LogGOPSim's txt2bin reads: sizes in bytes,
// calc in nanoseconds, labels of a rank's own.
void write_goal(std::ostream& out, const std::vector<RankEvents>& ranks);

}  // namespace refit
