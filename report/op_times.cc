#include "report/op_times.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/check.h"

namespace refit {
namespace {

// One lane of one rank, while ops go by in their order.
struct LaneClock {
  int round = -1;
  double earlier_end_s = 0;  // of the rounds before `round`
  double end_s = 0;          // of `round` too
};

class Clocks {
 public:
  explicit Clocks(const Schedule& schedule)
      : schedule_(schedule),
        lanes_(static_cast<std::size_t>(std::max(schedule.lanes, 1))),
        clocks_(static_cast<std::size_t>(schedule.ranks) * lanes_) {}

  double earlier_end_s(const Op& op) {
    double latest = 0;
    for (const Rank rank : ranks_of(op)) {
      LaneClock& clock = at(rank, op.lane);
      if (clock.round != op.round) {
        clock.round = op.round;
        clock.earlier_end_s = clock.end_s;
      }
      latest = std::max(latest, clock.earlier_end_s);
    }
    return latest;
  }

  void end(const Op& op, double end_s) {
    for (const Rank rank : ranks_of(op))
      at(rank, op.lane).end_s = std::max(at(rank, op.lane).end_s, end_s);
  }

  // Rounds are counted anew. When the barrier let each rank go is not known, only when the last one
  // noted it; but a rank comes to its next ops no earlier.
  void barrier(const Op& op) {
    for (const Rank rank : ranks_of(op)) {
      for (std::size_t lane = 0; lane < lanes_; ++lane) at(rank, lane).round = -1;
    }
  }

 private:
  std::span<const Rank> ranks_of(const Op& op) {
    if (op.kind != OpKind::transfer) return schedule_.groups[op.group.index()].ranks;
    pair_ = {op.src, op.dst};
    return pair_;
  }

  LaneClock& at(Rank rank, std::size_t lane) { return clocks_[rank.index() * lanes_ + lane]; }

  const Schedule& schedule_;
  std::size_t lanes_;
  std::vector<LaneClock> clocks_;
  std::array<Rank, 2> pair_;
};

}  // namespace

Timeline flow_times(const Schedule& schedule, const Timeline& timeline) {
  REFIT_CHECK(timeline.size() == schedule.ops.size());
  Timeline flow = timeline;
  Clocks clocks(schedule);
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (op.kind == OpKind::compute) continue;
    if (op.kind == OpKind::barrier) {
      clocks.barrier(op);
      continue;
    }
    double start_s = std::max(flow[id].start_s, clocks.earlier_end_s(op));
    for (const OpId earlier : schedule.after_of(op)) {
      start_s = std::max(start_s, timeline[earlier.index()].end_s);
    }
    // Ranks note an end one after the other, so the last note of one op may follow the next's.
    flow[id].start_s = std::min(start_s, flow[id].end_s);
    clocks.end(op, flow[id].end_s);
  }
  return flow;
}

std::optional<Span> phase_span(const Schedule& schedule, const Timeline& flow, std::size_t phase) {
  std::optional<Span> result;
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (op.phase != phase || !moves_bytes(op)) continue;
    if (!result) result = flow[id];
    result->start_s = std::min(result->start_s, flow[id].start_s);
    result->end_s = std::max(result->end_s, flow[id].end_s);
  }
  return result;
}

RouteKind route_of(const Op& op, const Schedule& schedule, const Cluster& cluster) {
  if (op.kind == OpKind::transfer) return route_kind(cluster, op.src, op.dst);
  const std::vector<Rank>& ranks = schedule.groups[op.group.index()].ranks;
  RouteKind slowest = RouteKind::local;
  for (const Rank rank : ranks) {
    slowest = std::max(slowest, route_kind(cluster, ranks.front(), rank));
  }
  return slowest;
}

std::string_view to_string(RouteKind kind) {
  switch (kind) {
    case RouteKind::local:
      return "local";
    case RouteKind::nvlink:
      return "nvlink";
    case RouteKind::node:
      return "node";
    case RouteKind::network:
      return "network";
  }
  REFIT_CHECK(false);
}

std::string op_words(const Op& op, const Schedule& schedule) {
  if (op.kind == OpKind::transfer) {
    return fmt::format("transfer {} -> {}", op.src.value, op.dst.value);
  }
  const std::size_t ranks = schedule.groups[op.group.index()].ranks.size();
  if (op.kind == OpKind::broadcast) {
    return fmt::format("broadcast from {} to {} ranks", op.src.value, ranks);
  }
  return fmt::format("{} of {} ranks", to_string(op.kind), ranks);
}

}  // namespace refit
