#include "executor/cuda/wave_transport.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "executor/cuda/pack.h"
#include "executor/cuda/patience.h"
#include "executor/run_rank.h"

namespace refit {
namespace {

constexpr std::int64_t kTokenBytes = 256;  // sent from the first half, received in the second

// Every message begins at a multiple of the widest access.
std::int64_t padded(std::int64_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

WaveTransport::WaveTransport(const Moves& moves, std::vector<Wave> waves, Rank self, Wire& wire,
                             WaveOptions options)
    : moves_(moves), waves_(std::move(waves)), self_(self), wire_(wire), options_(options) {
  REFIT_CHECK(options.piece_bytes > 0 && options.piece_bytes % 16 == 0);
  for (const Wave& wave : waves_) {
    const auto lane = static_cast<std::size_t>(wave.lane);
    if (lanes_.size() <= lane) lanes_.resize(lane + 1);
    if (lanes_[lane] == nullptr) lanes_[lane] = std::make_unique<Lane>();
  }
  token_.reserve(kTokenBytes);
  begin();
}

void WaveTransport::begin() {
  received_.assign((moves_.moves.size() + 63) / 64, 0);
  op_times_.clear();
  for (const OpId op : moves_.ops_of_rank.of(self_)) op_times_.push_back({op, {}});
  times_ = {};
  // The look that took least time knows best when the mark was reached.
  double least_s = 0;
  for (int look = 0; look < 5; ++look) {
    Event mark;
    const double before = steady_clock_s();
    mark.record(clock_stream_.get());
    clock_stream_.synchronize();
    const double after = steady_clock_s();
    if (look > 0 && after - before >= least_s) continue;
    least_s = after - before;
    clock_s_ = before + least_s / 2;
    std::swap(clock_, mark);
  }
}

void WaveTransport::send(Message message) { post(std::move(message), true); }

void WaveTransport::receive(Message message) { post(std::move(message), false); }

void WaveTransport::post(Message message, bool sending) {
  const std::uint32_t move = message.move;
  const bool is_new = posted_.emplace(move, Posted{std::move(message), sending}).second;
  REFIT_CHECK(is_new);
}

bool WaveTransport::next_is_complete() const {
  if (next_ == waves_.size()) return false;
  return std::ranges::all_of(waves_[next_].moves,
                             [&](std::uint32_t m) { return posted_.contains(m); });
}

void WaveTransport::wait(std::vector<Ended>& ended) {
  const std::size_t before = ended.size();
  Patience patience(options_.timeout_s);
  while (true) {
    while (next_is_complete()) issue(waves_[next_++]);
    collect(ended);
    if (ended.size() > before) return;
    wire_.check();
    if (under_way_.empty()) stand_still();
    if (patience.is_over()) {
      throw Error(
          ErrorCode::environment,
          fmt::format("rank {}: no message ended for {} s, {} groups are under way and {} of "
                      "{} were started",
                      self_.value, options_.timeout_s, under_way_.size(), next_, waves_.size()));
    }
    patience.pause();
  }
}

// What this rank still has to start waits for something to end here, and nothing will. So one rank
// alone can tell; and where ops wait in a circle, some rank does: of all groups under way take the
// one that is first in the order of all ranks. A peer that it lacks has issued none before it that
// could still end, and so has nothing under way.
void WaveTransport::stand_still() const {
  REFIT_CHECK(next_ < waves_.size());
  const auto& wave = waves_[next_].moves;
  const std::uint32_t m =
      *std::ranges::find_if(wave, [&](std::uint32_t move) { return !posted_.contains(move); });
  const Move& move = moves_.moves[m];
  throw WrongMessage(
      m, fmt::format("rank {} has nothing under way, and op {} ({} -> {}, {} bytes) "
                     "can't begin: the ops wait for each other",
                     self_.value, move.op.value, move.src.value, move.dst.value, move.bytes()));
}

void WaveTransport::issue(const Wave& wave) {
  Lane& lane = *lanes_[static_cast<std::size_t>(wave.lane)];
  try {
    UnderWay group;
    group.wave = &wave;
    group.begun.record(lane.pack.get());
    std::int64_t longest = 1;
    for (const std::uint32_t m : wave.moves) longest = std::max(longest, moves_.moves[m].bytes());
    for (std::int64_t begin = 0; begin < longest; begin += options_.piece_bytes)
      issue_piece(wave, begin, lane);
    group.has_receives =
        std::ranges::any_of(wave.moves, [&](std::uint32_t m) { return !posted_.at(m).sending; });
    group.sent.record(lane.wire.get());
    group.sent.hold(lane.unpack.get());  // both are reached when the second is
    group.received.record(lane.unpack.get());
    under_way_.push_back(std::move(group));
  } catch (const Error& error) {
    const Move& first = moves_.moves[wave.moves.front()];
    throw Error(error.code(),
                fmt::format("rank {}, lane {}, level {} ({} messages, first {} -> {} of op {}): {}",
                            self_.value, wave.lane, wave.level, wave.moves.size(), first.src.value,
                            first.dst.value, first.op.value, error.what()));
  }
}

// Both ends cut a message alike: by its length, not by how it lies in memory.
void WaveTransport::issue_piece(const Wave& wave, std::int64_t begin, Lane& lane) {
  Slot& slot = free_slot(lane);
  std::vector<WirePart> sends, receives;
  std::int64_t outgoing_bytes = 0, incoming_bytes = 0;
  BoxParts pack, unpack;
  // The first pass only measures the staging, which moves when it grows.
  for (const bool measuring : {true, false}) {
    outgoing_bytes = incoming_bytes = 0;
    for (const std::uint32_t m : wave.moves) {
      const auto& [message, sending] = posted_.at(m);
      if (begin > 0 && begin >= message.bytes) continue;
      const std::int64_t end = std::min(begin + options_.piece_bytes, message.bytes);
      WirePart part{message.peer, nullptr, std::max<std::int64_t>(end - begin, 1)};
      if (message.bytes == 0) {
        part.at = token_.data() + (sending ? 0 : kTokenBytes / 2);
      } else if (std::byte* base = contiguous_base(message.boxes)) {
        part.at = base + begin;
      } else {
        std::int64_t& staged = sending ? outgoing_bytes : incoming_bytes;
        if (!measuring) {
          part.at = (sending ? slot.outgoing : slot.incoming).data() + staged;
          (sending ? pack : unpack).add(message.boxes, begin, end, part.at);
        }
        staged += padded(part.bytes);
      }
      if (!measuring) (sending ? sends : receives).push_back(part);
    }
    slot.outgoing.reserve(outgoing_bytes);
    slot.incoming.reserve(incoming_bytes);
  }

  slot.pack_begin.record(lane.pack.get());
  slot.table.upload(pack, unpack, lane.pack.get());
  if (pack.tiles > 0) {
    cuda_check(launch_pack(slot.table.first(), static_cast<int>(pack.parts.size()), pack.tiles,
                           lane.pack.get()),
               "pack kernel");
  }
  slot.packed.record(lane.pack.get());
  slot.packed.hold(lane.wire.get());
  slot.wire_begin.record(lane.wire.get());
  wire_.exchange(wave.lane, sends, receives, lane.wire.get());
  slot.wired.record(lane.wire.get());
  slot.wired.hold(lane.unpack.get());
  slot.unpack_begin.record(lane.unpack.get());
  if (unpack.tiles > 0) {
    cuda_check(launch_unpack(slot.table.second(), static_cast<int>(unpack.parts.size()),
                             unpack.tiles, lane.unpack.get()),
               "unpack kernel");
  }
  slot.unpacked.record(lane.unpack.get());
  slot.used = true;
  times_.packed_bytes += outgoing_bytes;
  times_.unpacked_bytes += incoming_bytes;
}

// The host waits until the piece before the last is through, so nothing on the device has to.
WaveTransport::Slot& WaveTransport::free_slot(Lane& lane) {
  Slot& slot = lane.slots[lane.turn++ % lane.slots.size()];
  wait_for(slot.unpacked, "the group before the last");
  add_times(slot);
  return slot;
}

void WaveTransport::wait_for(const Event& event, const char* what) {
  Patience patience(options_.timeout_s);
  while (!event.reached()) {
    wire_.check();
    if (patience.is_over()) {
      throw Error(ErrorCode::environment,
                  fmt::format("{} did not end within {} s", what, options_.timeout_s));
    }
    patience.pause();
  }
}

void WaveTransport::add_times(Slot& slot) {
  if (!slot.used) return;
  slot.used = false;
  times_.pack_s += slot.packed.seconds_since(slot.pack_begin);
  times_.wire_s += slot.wired.seconds_since(slot.wire_begin);
  times_.unpack_s += slot.unpacked.seconds_since(slot.unpack_begin);
}

// A group is forgotten with its last end, so nothing is under way when all ends are known: what
// only sends ends with its marks on the unpack stream too.
void WaveTransport::collect(std::vector<Ended>& ended) {
  bool any = false;
  for (UnderWay& group : under_way_) {
    group.received_reached = group.received.reached();
    group.sent_reached = group.has_receives && !group.sends_ended &&
                         (group.received_reached || group.sent.reached());
    any = any || group.received_reached || group.sent_reached;
  }
  if (!any || !wire_.is_whole()) return;
  for (auto group = under_way_.begin(); group != under_way_.end();) {
    const Wave& wave = *group->wave;
    if (group->received_reached) {
      if (!group->sends_ended) end(*group, true, ended);
      end(*group, false, ended);
      for (const std::uint32_t m : wave.moves) posted_.erase(m);
      group = under_way_.erase(group);
      continue;
    }
    if (group->sent_reached) {
      group->sends_ended = true;
      end(*group, true, ended);
    }
    ++group;
  }
  if (next_ == waves_.size() && under_way_.empty()) next_ = 0;
}

void WaveTransport::end(const UnderWay& group, bool sends, std::vector<Ended>& ended) {
  const Event& last = sends ? group.sent : group.received;
  const Span span{group.begun.seconds_since(clock_), last.seconds_since(clock_)};
  for (const std::uint32_t m : group.wave->moves) {
    if (posted_.at(m).sending != sends) continue;
    ended.push_back({m, sends});
    if (!sends) received_[m / 64] |= std::uint64_t{1} << (m % 64);
    Span& op = op_times_[place_of(moves_.moves[m].op, moves_.ops_of_rank.of(self_)).value()].span;
    if (op == Span{}) op = span;
    op.start_s = std::min(op.start_s, span.start_s);
    op.end_s = std::max(op.end_s, span.end_s);
  }
}

OpTimes WaveTransport::take_op_times(double clock_zero_s) {
  REFIT_CHECK(under_way_.empty());
  const double shift = clock_s_ - clock_zero_s;
  for (auto& [op, span] : op_times_) {
    if (span == Span{}) continue;
    span.start_s = std::max(0.0, span.start_s + shift);
    span.end_s = std::max(0.0, span.end_s + shift);
  }
  return std::move(op_times_);
}

RankReport WaveTransport::report() {
  try {
    std::vector<Ended> since_the_last_look;
    collect(since_the_last_look);
  } catch (const Error&) {
    // Of a device that answers no more, what was known before.
  }
  RankReport report;
  report.received = received_;
  for (const auto& [move, posted] : posted_) report.open.push_back({move, posted.message.peer});
  return report;
}

void WaveTransport::drain() {
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    for (const Stream* stream : {&lane->pack, &lane->wire, &lane->unpack}) {
      Event end;
      end.record(stream->get());
      wait_for(end, "what a lost rank has broken off");
    }
  }
}

WaveTimes WaveTransport::take_times() {
  REFIT_CHECK(under_way_.empty());
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    for (Slot& slot : lane->slots) add_times(slot);
  }
  return std::exchange(times_, {});
}

void use_device_times(const Schedule& schedule, const OpTimes& of_device, OpTimes& times) {
  REFIT_CHECK(of_device.size() == times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& [op, device] = of_device[i];
    REFIT_CHECK(times[i].op == op);
    if (device == Span{}) continue;
    Span& span = times[i].span;
    span.start_s = device.start_s;
    const bool unpacks = is_collective(schedule.ops[op.index()]);
    span.end_s = unpacks ? std::max(span.end_s, device.end_s) : device.end_s;
  }
}

}  // namespace refit
