#include "cli/dry_run.h"

#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "executor/moves.h"
#include "executor/rank_program.h"
#include "report/op_times.h"
#include "topology/route.h"

namespace refit {
namespace {

constexpr std::size_t kMostEarlierOps = 6;  // named per message

std::string bytes_text(std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

class RankPosts {
 public:
  RankPosts(const Schedule& schedule, const Cluster& cluster, const Moves& moves, Rank rank)
      : schedule_(schedule),
        cluster_(cluster),
        moves_(moves),
        rank_(rank),
        program_(rank_program(schedule, moves, rank)) {}

  std::string text(std::size_t most) const {
    std::string lines = heading();
    std::size_t count = 0;
    for (const auto& segment : program_.segments) {
      for (const auto& [lane, round] : rounds_of(segment)) {
        if (is_barrier(*round)) {
          if (count++ < most) lines += barrier_line(round->ops.front());
          continue;
        }
        for (const std::uint32_t m : round->moves) {
          if (count++ < most) lines += line(moves_.moves[m], lane);
        }
      }
    }
    if (count > most) {
      lines += fmt::format("  ... {} more; --all prints them\n",
                           format_count(static_cast<std::int64_t>(count - most)));
    }
    return lines;
  }

 private:
  using LaneRound = std::pair<std::size_t, const RankProgram::Round*>;

  static std::vector<LaneRound> rounds_of(const RankProgram::Segment& segment) {
    std::vector<LaneRound> rounds;
    for (std::size_t lane = 0; lane < segment.lanes.size(); ++lane) {
      for (const RankProgram::Round& round : segment.lanes[lane]) rounds.emplace_back(lane, &round);
    }
    return rounds;
  }

  bool is_barrier(const RankProgram::Round& round) const {
    return schedule_.ops[round.ops.front().index()].kind == OpKind::barrier;
  }

  std::string barrier_line(OpId id) const {
    return fmt::format("  {}, op {}\n", op_words(schedule_.ops[id.index()], schedule_), id.value);
  }

  std::string heading() const {
    std::int64_t sends = 0, receives = 0, sent = 0, received = 0;
    for (const auto& segment : program_.segments) {
      for (const auto& [lane, round] : rounds_of(segment)) {
        for (const std::uint32_t m : round->moves) {
          const Move& move = moves_.moves[m];
          if (move.bytes() == 0) continue;  // of a barrier
          const bool sending = move.src == rank_;
          ++(sending ? sends : receives);
          (sending ? sent : received) += move.bytes();
        }
      }
    }
    return fmt::format("rank {}: {} to send ({}), {} to receive ({})\n", rank_.value,
                       format_count(sends), bytes_text(sent), format_count(receives),
                       bytes_text(received));
  }

  std::string line(const Move& move, std::size_t lane) const {
    const Op& op = schedule_.ops[move.op.index()];
    const bool sending = move.src == rank_;
    return fmt::format("  lane {} round {}: {} {} {} {} by {}, op {}{}\n", lane, op.round,
                       sending ? "send" : "receive", bytes_text(move.bytes()),
                       sending ? "to" : "from", sending ? move.dst.value : move.src.value,
                       to_string(route_kind(cluster_, move.src, move.dst)), move.op.value,
                       sending ? after_words(op) : "");
  }

  // Ops that must have arrived before a send.
  std::string after_words(const Op& op) const {
    const auto earlier = schedule_.after_of(op);
    if (earlier.empty()) return {};
    std::string words = ", after op";
    for (std::size_t i = 0; i < earlier.size() && i < kMostEarlierOps; ++i) {
      words += fmt::format(" {}", earlier[i].value);
    }
    return earlier.size() > kMostEarlierOps ? words + " ..." : words;
  }

  const Schedule& schedule_;
  const Cluster& cluster_;
  const Moves& moves_;
  Rank rank_;
  RankProgram program_;
};

}  // namespace

void write_dry_run(std::ostream& out, const Schedule& schedule, const Refit& refit,
                   const Cluster& cluster, bool all) {
  const std::size_t most = all ? std::numeric_limits<std::size_t>::max() : kMostPosted;
  const Moves moves = write_out(schedule, refit, cluster);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    out << RankPosts(schedule, cluster, moves, Rank(rank)).text(most);
  }
}

}  // namespace refit
