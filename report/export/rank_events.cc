#include "report/export/rank_events.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/units.h"

namespace refit {
namespace {

constexpr std::int64_t kMostMoves = std::int64_t{1} << 22;
constexpr std::int64_t kLargestPiece = std::int64_t{1} << 50;

using EventId = std::uint32_t;
using Events = std::vector<EventId>;

// One rank while ops go by in their order.
class RankWriter {
 public:
  explicit RankWriter(std::size_t lanes) : lanes_(lanes) {}

  EventId add(RankEvent event, const Events& after) {
    event.after_begin = static_cast<std::uint32_t>(out_.after.size());
    out_.after.insert(out_.after.end(), after.begin(), after.end());
    event.after_end = static_cast<std::uint32_t>(out_.after.size());
    out_.events.push_back(event);
    return static_cast<EventId>(out_.events.size()) - 1;
  }

  // What an op of this round of this lane waits for.
  Events enter(OpId op, std::size_t lane_number, std::int32_t round) {
    Lane& lane = lanes_[lane_number];
    if (lane.round != round) {
      if (!lane.current.empty()) lane.gate = joined(op, std::move(lane.current));
      lane.current.clear();
      lane.round = round;
    }
    return lane.gate ? Events{*lane.gate} : Events{};
  }
  // The same on a lane with a window of `width` at a time; 0: any number.
  Events enter_window(std::size_t lane_number, bool sending, std::size_t width) {
    Lane& lane = lanes_[lane_number];
    const Events& queue = sending ? lane.sent : lane.received;
    Events after = lane.gate ? Events{*lane.gate} : Events{};
    if (width > 0 && queue.size() >= width) after.push_back(queue[queue.size() - width]);
    return after;
  }
  void placed(std::size_t lane, EventId event) { lanes_[lane].current.push_back(event); }
  void queued(std::size_t lane, bool sending, EventId event) {
    (sending ? lanes_[lane].sent : lanes_[lane].received).push_back(event);
  }

  // Adds what op `before` was here to what is waited for.
  void wait_for(OpId before, Events& after) const {
    const auto found =
        std::lower_bound(ops_.begin(), ops_.end(), before.value,
                         [](const OpEvents& a, std::int32_t op) { return a.op < op; });
    if (found == ops_.end() || found->op != before.value) return;
    for (EventId event = found->begin; event < found->end; ++event) after.push_back(event);
  }
  void note(OpId op, EventId event) {
    if (ops_.empty() || ops_.back().op != op.value) ops_.push_back({op.value, event, event});
    ops_.back().end = event + 1;
  }

  // Everything so far, or what op `op` was: all that follows waits for it.
  std::optional<EventId> close(OpId op) {
    Events all;
    for (const Lane& lane : lanes_) {
      if (lane.gate) all.push_back(*lane.gate);
      for (const Events* list : {&lane.current, &lane.sent, &lane.received})
        all.insert(all.end(), list->begin(), list->end());
    }
    return gate_all(op, std::move(all));
  }
  void close_op(OpId op) {
    Events own;
    wait_for(op, own);
    gate_all(op, std::move(own));
  }

  EventId joined(OpId op, Events events) {
    std::sort(events.begin(), events.end());
    events.erase(std::unique(events.begin(), events.end()), events.end());
    if (events.size() == 1) return events.front();
    RankEvent join;
    join.kind = EventKind::join;
    join.op = op;
    return add(join, events);
  }

  RankEvents finish() && { return std::move(out_); }

 private:
  struct Lane {
    std::int32_t round = -1;
    std::optional<EventId> gate;  // what the current round waits for
    Events current;
    Events sent, received;  // of lanes with a window
  };
  struct OpEvents {
    std::int32_t op = 0;
    EventId begin = 0, end = 0;
  };

  std::optional<EventId> gate_all(OpId op, Events events) {
    if (events.empty()) return std::nullopt;
    const EventId gate = joined(op, std::move(events));
    for (Lane& lane : lanes_) lane = {-1, gate, {}, {}, {}};
    return gate;
  }

  RankEvents out_;
  std::vector<Lane> lanes_;
  std::vector<OpEvents> ops_;
};

class EventsOfSchedule {
 public:
  EventsOfSchedule(const Schedule& schedule, const Moves& moves, const Timeline& timeline)
      : schedule_(schedule),
        moves_(moves),
        timeline_(timeline),
        arrived_(moves.moves.size(), 0),
        ranks_(static_cast<std::size_t>(schedule.ranks),
               RankWriter(static_cast<std::size_t>(std::max(schedule.lanes, 1)))) {}

  std::vector<RankEvents> write() {
    for (std::size_t id = 0; id < schedule_.ops.size(); ++id) {
      op_ = OpId(static_cast<std::int64_t>(id));
      const Op& op = schedule_.ops[id];
      entries_.clear();
      joins_.clear();
      if (op.kind == OpKind::compute) {
        work(op);
      } else {
        messages(op);
      }
    }
    std::vector<RankEvents> result;
    for (RankWriter& rank : ranks_) result.push_back(std::move(rank).finish());
    return result;
  }

 private:
  RankWriter& at(Rank rank) { return ranks_[rank.index()]; }

  void work(const Op& op) {
    RankEvent event;
    event.op = op_;
    event.bytes = op.bytes;
    const Span& span = timeline_[op_.index()];
    event.seconds = span.end_s - span.start_s;
    for (const Rank rank : schedule_.groups[op.group.index()].ranks) {
      const EventId added = at(rank).add(event, entry(op, rank, true));
      at(rank).note(op_, added);
      at(rank).placed(op.lane, added);
    }
  }

  void messages(const Op& op) {
    if (op.kind == OpKind::barrier)
      for (const Rank rank : schedule_.groups[op.group.index()].ranks)
        if (const auto gate = at(rank).close(op_)) entries_[{rank, true}] = Events{*gate};
    for (std::uint32_t m = moves_.first_of_op[op_.index()]; m < moves_.first_of_op[op_.index() + 1];
         ++m)
      message(op, m);
    if (op.kind == OpKind::barrier)
      for (const Rank rank : schedule_.groups[op.group.index()].ranks) at(rank).close_op(op_);
  }

  void message(const Op& op, std::uint32_t number) {
    const Move& move = moves_.moves[number];
    RankEvent event;
    event.op = op_;
    event.bytes = move.bytes();
    event.tag = number;
    Events after = entry(op, move.src, true);
    if (const auto arrivals = moves_.after_of(move); !arrivals.empty())
      after.push_back(arrived(move, arrivals));
    if (move.src == move.dst) {  // a copy on the device
      place(op, move.src, true, event, after);
      return;
    }
    event.kind = EventKind::send;
    event.peer = move.dst;
    place(op, move.src, true, event, after);
    event.kind = EventKind::receive;
    event.peer = move.src;
    arrived_[number] = place(op, move.dst, false, event, entry(op, move.dst, false));
  }

  EventId place(const Op& op, Rank rank, bool sending, const RankEvent& event,
                const Events& after) {
    const EventId added = at(rank).add(event, after);
    at(rank).note(op_, added);
    if (op.kind == OpKind::barrier) return added;
    if (is_windowed(op)) {
      at(rank).queued(op.lane, sending, added);
    } else {
      at(rank).placed(op.lane, added);
    }
    return added;
  }

  // What stands for the messages that a move waits for: one event for all moves that share the
  // list, as the releases of a barrier do.
  EventId arrived(const Move& move, std::span<const std::uint32_t> arrivals) {
    const auto [found, fresh] = joins_.try_emplace(move.after_begin, 0);
    if (!fresh && arrivals.size() > 1) return found->second;
    Events events;
    for (const std::uint32_t before : arrivals) events.push_back(arrived_[before]);
    found->second = at(move.src).joined(op_, std::move(events));
    return found->second;
  }

  bool is_windowed(const Op& op) const {
    return op.kind == OpKind::transfer && schedule_.window_of(op.lane) != nullptr;
  }

  // What the op waits for on the rank; asked once per rank and op, for all its pieces. Who only
  // receives a transfer does not wait for what the sender must have.
  const Events& entry(const Op& op, Rank rank, bool sending) {
    const bool one_sided = op.kind == OpKind::transfer;
    const auto [found, fresh] = entries_.try_emplace({rank, sending || !one_sided});
    if (!fresh || op.kind == OpKind::barrier) return found->second;
    Events after;
    if (is_windowed(op)) {
      const LaneWindow& window = *schedule_.window_of(op.lane);
      after = at(rank).enter_window(op.lane, sending,
                                    (sending ? window.send : window.receive)[rank.index()]);
    } else {
      after = at(rank).enter(op_, op.lane, op.round);
    }
    if (sending || !one_sided)
      for (const OpId before : schedule_.after_of(op)) at(rank).wait_for(before, after);
    if (after.size() > 1 && !one_sided) after = {at(rank).joined(op_, std::move(after))};
    found->second = std::move(after);
    return found->second;
  }

  const Schedule& schedule_;
  const Moves& moves_;
  const Timeline& timeline_;
  OpId op_;
  std::map<std::pair<Rank, bool>, Events> entries_;  // of this op
  std::map<std::uint32_t, EventId> joins_;           // of this op, by the first of a list of moves
  Events arrived_;                                   // by move: the event at its destination
  std::vector<RankWriter> ranks_;
};

}  // namespace

std::vector<RankEvents> rank_events(const Schedule& schedule, const Moves& moves,
                                    const Timeline& timeline) {
  REFIT_CHECK(timeline.size() == schedule.ops.size());
  return EventsOfSchedule(schedule, moves, timeline).write();
}

Moves moves_for_export(const Schedule& schedule, const Refit& refit, const Cluster& cluster) {
  MoveOptions options;
  std::int64_t moves = count_moves(schedule, refit, cluster, options);
  while (moves > kMostMoves && options.piece_bytes < kLargestPiece) {
    options.piece_bytes *= 2;
    moves = count_moves(schedule, refit, cluster, options);
  }
  if (moves > kMostMoves)
    throw Error(ErrorCode::bad_input,
                fmt::format("the plan is {} messages between ranks even with collectives in one "
                            "piece, and a file can have {}; export fewer layers or ranks",
                            format_count(moves), format_count(kMostMoves)));
  return write_out(schedule, refit, cluster, options);
}

}  // namespace refit
