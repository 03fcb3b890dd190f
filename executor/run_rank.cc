#include "executor/run_rank.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "topology/route.h"

namespace refit {
namespace {

class RankRun {
 public:
  RankRun(const RunContext& context, const RankProgram& program, OpMemory& memory,
          Transport& transport, double clock_zero_s)
      : context_(context),
        program_(program),
        memory_(memory),
        transport_(transport),
        zero_(clock_zero_s),
        ops_(context.moves.ops_of_rank.of(memory.rank())),
        left_of_op_(ops_.size(), 0) {
    for (const OpId op : ops_) times_.push_back({op, {}});
    move_ended_.assign(context.moves.moves.size(), false);
    for (const auto& segment : program.segments) {
      for (const auto& lane : segment.lanes) {
        for (const auto& round : lane) {
          for (const std::uint32_t m : round.moves) ++left_of_op_[own(context.moves.moves[m].op)];
          for (const OpId op : round.ops) {
            ++uses_left_[bucket_key(op)];
            check_root(op);
          }
        }
      }
    }
  }

  OpTimes run() {
    for (const auto& segment : program_.segments) run_segment(segment);
    return std::move(times_);
  }

 private:
  using BucketKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

  // One direction of a lane with a window: moves in order, some of them posted.
  struct Side {
    std::vector<std::uint32_t> moves;
    std::size_t next = 0;
    std::size_t posted = 0;
    std::size_t width = 0;  // 0: any number, in any order

    bool has_room() const { return next < moves.size() && (width == 0 || posted < width); }
  };
  struct Lane {
    const std::vector<RankProgram::Round>* rounds = nullptr;
    std::size_t round = 0;               // the one that runs
    std::size_t left = 0;                // its moves that have not ended
    std::vector<std::uint32_t> waiting;  // its moves that wait for others to end
    bool has_window = false;
    Side sends, receives;
  };

  // Where an op of this rank is among its ops.
  std::size_t own(OpId op) const {
    const auto place = place_of(op, ops_);
    REFIT_CHECK(place);
    return *place;
  }

  // Whether moves of it on this rank have not ended. Ops of others have none here.
  bool is_open(OpId op) const {
    const auto place = place_of(op, ops_);
    return place && left_of_op_[*place] > 0;
  }

  BucketKey bucket_key(OpId id) const {
    const Op& op = context_.schedule.ops[id.index()];
    return {op.cargo.value, op.chunk_begin, op.chunk_end};
  }

  // A broadcast reads its root's bucket: the root must own all of it, or have gathered it under the
  // same cargo and chunks. Plans may say more than this executor can do; it refuses, never guesses.
  void check_root(OpId id) const {
    const Op& op = context_.schedule.ops[id.index()];
    if (op.kind != OpKind::broadcast || op.src != memory_.rank()) return;
    for (const OpId earlier : context_.schedule.after_of(op)) {
      if (is_collective(context_.schedule.ops[earlier.index()]) &&
          bucket_key(earlier) == bucket_key(id)) {
        return;
      }
    }
    for (const ParcelId parcel : context_.schedule.cargos[op.cargo.index()].parcels) {
      const auto& owners = context_.schedule.parcels[parcel.index()].owners;
      if (!std::binary_search(owners.begin(), owners.end(), op.src)) {
        throw Error(
            ErrorCode::bad_input,
            fmt::format("op {}: rank {} broadcasts parcel {}, which it neither owns nor "
                        "gathered under the same cargo; this executor can't run such a plan",
                        id.value, op.src.value, parcel.value));
      }
    }
  }

  double now() const { return steady_clock_s() - zero_; }

  void run_segment(const RankProgram::Segment& segment) {
    lanes_.assign(segment.lanes.size(), {});
    std::size_t open = 0;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      lanes_[l].rounds = &segment.lanes[l];
      if (!lanes_[l].rounds->empty()) ++open;
    }
    for (std::size_t l = 0; l < lanes_.size(); ++l) open -= enter_round(l);
    std::vector<Ended> ended;
    while (open > 0) {
      ended.clear();
      transport_.wait(ended);
      for (const Ended& e : ended) open -= end(e);
      for (std::size_t l = 0; l < lanes_.size(); ++l) start_ready(l);
    }
  }

  // Starts the lane's current round, or the next that has moves. Returns 1 if the lane is through.
  std::size_t enter_round(std::size_t l) {
    Lane& lane = lanes_[l];
    for (; lane.round < lane.rounds->size(); ++lane.round) {
      const RankProgram::Round& round = (*lane.rounds)[lane.round];
      for (const OpId op : round.ops) {
        const std::size_t place = own(op);
        times_[place].span.start_s = now();
        if (left_of_op_[place] == 0) end_op(place);
      }
      if (round.moves.empty()) continue;
      lane.left = round.moves.size();
      lane.waiting.clear();
      if (open_window(l, round)) return 0;
      lane.waiting = round.moves;
      start_ready(l);
      return 0;
    }
    return lane.rounds->empty() ? 0 : 1;
  }

  // A lane with a window has one round of moves, which start as the window lets them.
  bool open_window(std::size_t l, const RankProgram::Round& round) {
    Lane& lane = lanes_[l];
    const LaneWindow* window = context_.schedule.window_of(static_cast<int>(l));
    lane.has_window = window != nullptr;
    if (!lane.has_window) return false;
    const std::size_t rank = memory_.rank().index();
    const bool all = transport_.in_groups();
    lane.sends = {{}, 0, 0, all ? std::size_t{0} : window->send[rank]};
    lane.receives = {{}, 0, 0, all ? std::size_t{0} : window->receive[rank]};
    for (const std::uint32_t m : round.moves)
      (context_.moves.moves[m].dst == memory_.rank() ? lane.receives : lane.sends)
          .moves.push_back(m);
    if (lane.sends.width == 0) lane.waiting = std::move(lane.sends.moves);
    start_ready(l);
    return true;
  }

  void fill_window(Lane& lane) {
    while (lane.receives.has_room()) {
      const std::uint32_t m = lane.receives.moves[lane.receives.next++];
      ++lane.receives.posted;
      begin_op(m);
      transport_.receive(message(m, false));
    }
    while (lane.sends.has_room() && ready(lane.sends.moves[lane.sends.next])) {
      const std::uint32_t m = lane.sends.moves[lane.sends.next++];
      ++lane.sends.posted;
      begin_op(m);
      transport_.send(message(m, true));
    }
  }

  void begin_op(std::uint32_t m) { times_[own(context_.moves.moves[m].op)].span.start_s = now(); }

  void start_ready(std::size_t l) {
    if (lanes_[l].has_window) fill_window(lanes_[l]);
    auto& waiting = lanes_[l].waiting;
    // A receiver with a window asks for its messages in their order, and a connection brings them
    // as they were sent: one that overtook another would stand before it, and neither be read.
    std::set<Rank> held_up;
    std::erase_if(waiting, [&](std::uint32_t m) {
      const Move& move = context_.moves.moves[m];
      const bool sending = move.src == memory_.rank();
      if (lanes_[l].has_window && held_up.contains(move.dst)) return false;
      if (sending ? !ready(m) : !may_receive(m)) {
        held_up.insert(move.dst);
        return false;
      }
      if (lanes_[l].has_window) begin_op(m);
      if (sending) {
        transport_.send(message(m, true));
      } else {
        transport_.receive(message(m, false));
      }
      return true;
    });
  }

  // What is gathered first and broadcast then goes through one bucket, also on ranks that take part
  // in both: the broadcast writes there once nobody reads any more what was gathered.
  bool may_receive(std::uint32_t m) const {
    const OpId id = context_.moves.moves[m].op;
    const Op& op = context_.schedule.ops[id.index()];
    if (!is_collective(op)) return true;
    for (const OpId earlier : context_.schedule.after_of(op)) {
      if (is_collective(context_.schedule.ops[earlier.index()]) &&
          bucket_key(earlier) == bucket_key(id) && is_open(earlier)) {
        return false;
      }
    }
    return true;
  }

  // Whether all has arrived that this rank must have before it sends.
  bool ready(std::uint32_t m) const {
    const Move& move = context_.moves.moves[m];
    for (const std::uint32_t earlier : context_.moves.after_of(move)) {
      if (!move_ended_[earlier]) return false;
    }
    const Op& op = context_.schedule.ops[move.op.index()];
    for (const OpId earlier : context_.schedule.after_of(op)) {
      if (is_open(earlier)) return false;
    }
    return true;
  }

  Message message(std::uint32_t m, bool sending) {
    const Move& move = context_.moves.moves[m];
    const Op& op = context_.schedule.ops[move.op.index()];
    Message result;
    result.move = m;
    result.peer = sending ? move.dst : move.src;
    result.lane = op.lane;
    result.by_nvlink = context_.cluster.domain(move.src) == context_.cluster.domain(move.dst);
    result.bytes = move.bytes();
    if (move.bytes() == 0) return result;
    if (is_collective(op)) {
      result.boxes.push_back(contiguous(memory_.bucket(op) + move.begin, move.bytes()));
    } else {
      result.boxes = memory_.boxes(op, sending);
    }
    return result;
  }

  // Returns 1 if this was the last of a lane.
  std::size_t end(const Ended& ended) {
    const Move& move = context_.moves.moves[ended.move];
    const Op& op = context_.schedule.ops[move.op.index()];
    move_ended_[ended.move] = true;
    const std::size_t place = own(move.op);
    REFIT_CHECK(left_of_op_[place] > 0);
    if (--left_of_op_[place] == 0) end_op(place);
    Lane& lane = lanes_[op.lane];
    REFIT_CHECK(lane.left > 0);
    if (lane.has_window) {
      Side& side = move.dst == memory_.rank() ? lane.receives : lane.sends;
      if (side.width > 0) --side.posted;
    }
    if (--lane.left > 0) return 0;
    ++lane.round;
    return enter_round(op.lane);
  }

  void end_op(std::size_t place) {
    const OpId id = ops_[place];
    const Op& op = context_.schedule.ops[id.index()];
    if (is_collective(op)) {
      memory_.unpack_bucket(op);
      if (--uses_left_.at(bucket_key(id)) == 0) memory_.drop_bucket(op);
    }
    times_[place].span.end_s = now();
  }

  const RunContext& context_;
  const RankProgram& program_;
  OpMemory& memory_;
  Transport& transport_;
  double zero_;
  std::span<const OpId> ops_;            // of this rank; what follows has an entry for each
  std::vector<std::size_t> left_of_op_;  // moves on this rank that have not ended
  OpTimes times_;
  std::vector<bool> move_ended_;
  std::map<BucketKey, int> uses_left_;  // ops that have not ended, per bucket
  std::vector<Lane> lanes_;
};

}  // namespace

OpTimes run_rank(const RunContext& context, const RankProgram& program, OpMemory& memory,
                 Transport& transport, double clock_zero_s) {
  return RankRun(context, program, memory, transport, clock_zero_s).run();
}

}  // namespace refit
