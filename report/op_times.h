#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "topology/cluster.h"
#include "topology/route.h"

namespace refit {

// When each op's bytes could flow. A measured op begins when its first rank comes to it, which may
// then wait for its peer or for what it must have first; that is time of earlier ops. So each start
// is put off until the ops that this one comes after have ended: those it names, and those of
// earlier rounds of its lane on each of its ranks. A simulated timeline stays as it is.
Timeline flow_times(const Schedule& schedule, const Timeline& timeline);

// From the first start to the last end of the phase's bytes, by flow_times; nothing for a phase
// that moves none.
std::optional<Span> phase_span(const Schedule& schedule, const Timeline& flow, std::size_t phase);

// The slowest kind of route that an op's bytes take: a collective over several domains is
// `network`, though it uses NVLink inside them.
RouteKind route_of(const Op& op, const Schedule& schedule, const Cluster& cluster);
std::string_view to_string(RouteKind kind);

// "transfer 1 -> 5", "broadcast from 0 to 12 ranks".
std::string op_words(const Op& op, const Schedule& schedule);

}  // namespace refit
