#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "executor/moves.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"

namespace refit {

enum class EventKind {
  send,     // of one message
  receive,  // of one message
  work,     // takes `seconds`
  join,     // takes no time: stands for all that it waits for
};

// One step of one rank, for formats that know messages between ranks and nothing of collectives.
struct RankEvent {
  EventKind kind = EventKind::work;
  OpId op;
  Rank peer;  // of messages
  std::int64_t bytes = 0;
  std::uint32_t tag = 0;  // of messages: equal at both ends, and there only
  double seconds = 0;     // of work
  std::uint32_t after_begin = 0, after_end = 0;
};

// What one rank does. Events wait for earlier ones of the same rank only; what a rank waits for
// elsewhere reaches it as a message.
struct RankEvents {
  std::vector<RankEvent> events;
  std::vector<std::uint32_t> after;

  std::span<const std::uint32_t> after_of(const RankEvent& event) const {
    return std::span(after).subspan(event.after_begin, event.after_end - event.after_begin);
  }
};

// A schedule as its ranks do it, with rounds, windows, barriers and `after` as dependencies. Who
// sends what he received waits for that message. `timeline` says how long work takes. Since events
// are made in the order of the ops, whatever runs them in that order comes through.
std::vector<RankEvents> rank_events(const Schedule& schedule, const Moves& moves,
                                    const Timeline& timeline);

// The schedule's messages, pieces of collectives as small as they are in a run unless there would
// be more than a file should have; then larger. Error(bad_input) if there are too many with the
// largest, too.
Moves moves_for_export(const Schedule& schedule, const Refit& refit, const Cluster& cluster);

}  // namespace refit
