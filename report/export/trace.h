#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "topology/cluster.h"

namespace refit {

// What a trace shows: ranks, each perhaps for others that do the same at the same times.
struct TracedRank {
  Rank rank;
  int alike = 0;  // others
};
struct TracedRanks {
  std::vector<TracedRank> ranks;
  int left_out = 0;  // ranks that are neither shown nor alike to one that is
};

inline constexpr int kMostTracedRanks = 64;
inline constexpr std::size_t kMostTraceEvents = 2'000'000;

// All ranks, up to kMostTracedRanks of them; of more the first of each class of alike ranks, as
// many classes as fit. `timelines`: all that the trace will show.
TracedRanks default_traced_ranks(const Schedule& schedule,
                                 const std::vector<const Timeline*>& timelines);

// "0-7,32": these, in rising order. Error(bad_input) names a word that is no rank of the plan.
TracedRanks parse_traced_ranks(const std::string& text, int ranks);

struct TraceTimes {
  std::string label;  // behind the name of a lane; empty: none
  const Timeline* timeline = nullptr;
};

// Trace Event JSON, which Perfetto and chrome://tracing open: a process per rank, a thread per lane
// of each of `times`, more where its ops overlap; an event per op and rank, in microseconds, with
// op number, phase, round, bytes and peers. Error(bad_input) if there are more than
// kMostTraceEvents.
void write_trace(std::ostream& out, const Schedule& schedule, const Cluster& cluster,
                 const TracedRanks& ranks, const std::vector<TraceTimes>& times,
                 const std::string& title);

}  // namespace refit
