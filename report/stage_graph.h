#pragma once

#include <string>

#include "schedule/schedule.h"
#include "sim/prediction.h"

namespace refit {

// What waits for what, as a DOT graph: a box per phase, kind of work, pipeline stage of the source
// and lane, with when it runs by prediction. Arrows are the dependencies of ops and the order of
// lanes. Where that is too much for a picture, lanes, then stages are drawn together, which is
// said.
std::string stage_graph(const Schedule& schedule, const Prediction& prediction);

}  // namespace refit
