#include "report/export/goal.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ostream.h>

namespace refit {
namespace {

// LogGOPSim takes the gap of all bytes but the first, and wraps below 0 where there is none; a
// message of one byte costs what one of none should.
std::int64_t size_of(const RankEvent& event) { return std::max<std::int64_t>(1, event.bytes); }

void write_event(std::ostream& out, const RankEvent& event, std::size_t label) {
  switch (event.kind) {
    case EventKind::send:
      fmt::print(out, "l{}: send {}b to {} tag {}\n", label, size_of(event), event.peer.value,
                 event.tag);
      break;
    case EventKind::receive:
      fmt::print(out, "l{}: recv {}b from {} tag {}\n", label, size_of(event), event.peer.value,
                 event.tag);
      break;
    case EventKind::work:
      fmt::print(out, "l{}: calc {}\n", label, std::llround(event.seconds * 1e9));
      break;
    case EventKind::join:
      fmt::print(out, "l{}: calc 0\n", label);
      break;
  }
}

}  // namespace

void write_goal(std::ostream& out, const std::vector<RankEvents>& ranks) {
  fmt::print(out, "num_ranks {}\n", ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    fmt::print(out, "\nrank {} {{\n", rank);
    for (std::size_t i = 0; i < ranks[rank].events.size(); ++i) {
      const RankEvent& event = ranks[rank].events[i];
      write_event(out, event, i);
      for (const std::uint32_t before : ranks[rank].after_of(event))
        fmt::print(out, "l{} requires l{}\n", i, before);
    }
    fmt::print(out, "}}\n");
  }
}

}  // namespace refit
