#include "schedule/detail/verify_order.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace refit::detail {
namespace {

class Order {
 public:
  Order(const Schedule& schedule, const OpRanks& ranks, std::size_t most, Diagnostics& findings)
      : schedule_(schedule), ranks_(ranks), most_(most), findings_(findings) {
    const auto lanes = static_cast<std::size_t>(schedule.lanes);
    rounds_.resize(static_cast<std::size_t>(schedule.ranks) * lanes);
  }

  void run() {
    for (std::size_t id = 0; id < schedule_.ops.size() && findings_.size() < most_; ++id) {
      const Op& op = schedule_.ops[id];
      for (const OpId earlier : schedule_.after_of(op)) check_wait(id, earlier);
      if (schedule_.window_of(op.lane) != nullptr && op.kind != OpKind::barrier) {
        if (op.kind != OpKind::transfer || op.round != 0)
          report(id, fmt::format("is in lane {}, which has a window: use a transfer in round 0",
                                 op.lane));
      } else if (op.kind == OpKind::barrier) {
        close_rounds(op);
      } else if (op.kind == OpKind::transfer) {
        check_lane(id, op.src);
        check_lane(id, op.dst);
      } else {
        for (const Rank rank : schedule_.groups[op.group.index()].ranks) {
          if (!check_lane(id, rank)) break;  // one rank is enough to see it
        }
      }
    }
  }

 private:
  void report(std::size_t id, std::string message) {
    if (findings_.size() < most_) findings_.push_back({name_of(schedule_, id), std::move(message)});
  }

  void check_wait(std::size_t id, OpId earlier) {
    const Op& op = schedule_.ops[id];
    if (earlier.value < 0 || earlier.index() >= id) {
      return report(id, fmt::format("waits for op {}, which comes later; name earlier ops only",
                                    earlier.value));
    }
    const Op& before = schedule_.ops[earlier.index()];
    const auto& members = schedule_.groups;
    const bool has_sender = op.kind == OpKind::transfer || op.kind == OpKind::broadcast;
    const bool known = has_sender
                           ? ranks_.touches(before, op.src)
                           : std::any_of(members[op.group.index()].ranks.begin(),
                                         members[op.group.index()].ranks.end(),
                                         [&](Rank rank) { return ranks_.touches(before, rank); });
    if (!known) {
      return report(
          id, has_sender
                  ? fmt::format("waits for op {}, which its sender, rank {}, takes no part in",
                                earlier.value, op.src.value)
                  : fmt::format("waits for op {}, which none of its ranks takes part in",
                                earlier.value));
    }
    // They share a rank, on which the ops of a round start together.
    const bool has_round = op.kind != OpKind::barrier && before.kind != OpKind::barrier;
    const bool same_lane = op.lane == before.lane && schedule_.window_of(op.lane) == nullptr;
    if (has_round && same_lane && op.round == before.round) {
      report(id,
             fmt::format("waits for op {} of its own round, {} of lane {}; put it in a later one",
                         earlier.value, op.round, op.lane));
    }
  }

  // Where a rank is in a lane.
  struct Rounds {
    int last = -1;  // that an op was in
    int open = 0;   // the earliest that an op may be in
  };

  Rounds& rounds_of(Rank rank, std::size_t lane) {
    return rounds_[rank.index() * static_cast<std::size_t>(schedule_.lanes) + lane];
  }

  bool check_lane(std::size_t id, Rank rank) {
    const Op& op = schedule_.ops[id];
    Rounds& rounds = rounds_of(rank, op.lane);
    const bool in_order = op.round >= rounds.open;
    if (!in_order) {
      report(id,
             op.round < rounds.last
                 ? fmt::format("is in round {} of lane {}, but rank {} is in round {} already",
                               op.round, op.lane, rank.value, rounds.last)
                 : fmt::format("is in round {} of lane {}, which a barrier of rank {} ended; use "
                               "round {} or later",
                               op.round, op.lane, rank.value, rounds.open));
    }
    rounds.last = std::max(rounds.last, op.round);
    rounds.open = std::max(rounds.open, op.round);
    return in_order;
  }

  // What comes after a barrier can't start together with what came before.
  void close_rounds(const Op& op) {
    for (const Rank rank : schedule_.groups[op.group.index()].ranks) {
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(schedule_.lanes); ++lane) {
        Rounds& rounds = rounds_of(rank, lane);
        if (rounds.last == std::numeric_limits<std::int32_t>::max()) continue;  // nothing is later
        rounds.open = std::max(rounds.open, rounds.last + 1);
      }
    }
  }

  const Schedule& schedule_;
  const OpRanks& ranks_;
  std::size_t most_;
  Diagnostics& findings_;
  std::vector<Rounds> rounds_;  // [rank][lane]
};

}  // namespace

void verify_order(const Schedule& schedule, const OpRanks& ranks, std::size_t most,
                  Diagnostics& findings) {
  Order(schedule, ranks, most, findings).run();
}

}  // namespace refit::detail
