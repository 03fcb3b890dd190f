#include "schedule/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "schedule/detail/verify_parcels.h"

namespace refit {
namespace {

constexpr std::size_t kMostFindings = 20;

std::string name_of(const Schedule& schedule, std::size_t id) {
  const Op& op = schedule.ops[id];
  switch (op.kind) {
    case OpKind::transfer:
      return fmt::format("op {} (transfer {} -> {})", id, op.src.value, op.dst.value);
    case OpKind::broadcast:
      return fmt::format("op {} (broadcast from {} to {} ranks)", id, op.src.value,
                         schedule.groups[op.group.index()].ranks.size());
    default:
      return fmt::format("op {} ({} of {} ranks)", id, to_string(op.kind),
                         schedule.groups[op.group.index()].ranks.size());
  }
}

bool contains(const std::vector<Rank>& ascending, Rank rank) {
  return std::binary_search(ascending.begin(), ascending.end(), rank);
}

// Replays the ops in order against the rules of schedule.h.
class Replay {
 public:
  Replay(const Schedule& schedule, const Refit& refit, Diagnostics& findings)
      : schedule_(schedule), refit_(refit), findings_(findings) {
    lane_round_.assign(static_cast<std::size_t>(schedule.ranks) * static_cast<std::size_t>(schedule.lanes), -1);
    for (const Group& group : schedule.groups) {
      members_.emplace_back(static_cast<std::size_t>(schedule.ranks), false);
      for (const Rank rank : group.ranks) members_.back()[rank.index()] = true;
    }
    std::size_t words = 0;
    for (const Parcel& parcel : schedule.parcels) {
      first_word_.push_back(words);
      words += parcel.demanders.size() * words_of(parcel);
    }
    received_.assign(words, 0);
    covered_.resize(schedule.parcels.size());
  }

  void run() {
    for (std::size_t id = 0; id < schedule_.ops.size() && findings_.size() < kMostFindings; ++id) {
      check_order(id);
      const Op& op = schedule_.ops[id];
      if (op.kind == OpKind::transfer) check_transfer(id);
      if (op.kind == OpKind::all_gather) check_all_gather(id);
      if (op.kind == OpKind::broadcast) check_broadcast(id);
    }
    if (findings_.size() < kMostFindings) check_complete();
  }

 private:
  static std::size_t words_of(const Parcel& parcel) {
    return (static_cast<std::size_t>(parcel.chunks) + 63) / 64;
  }

  void report(std::size_t id, const std::string& message) {
    if (findings_.size() < kMostFindings) findings_.push_back({name_of(schedule_, id), message});
  }

  bool touches(const Op& op, Rank rank) const {
    if (op.kind == OpKind::transfer) return op.src == rank || op.dst == rank;
    return members_[op.group.index()][rank.index()];
  }

  // Rules 1 to 3.
  void check_order(std::size_t id) {
    const Op& op = schedule_.ops[id];
    for (const OpId earlier : schedule_.after_of(op)) {
      if (earlier.index() >= id) {
        report(id, fmt::format("waits for op {}, which comes later; name earlier ops only", earlier.value));
        continue;
      }
      const Op& before = schedule_.ops[earlier.index()];
      bool known = false;
      if (op.kind == OpKind::transfer || op.kind == OpKind::broadcast) {
        known = touches(before, op.src);
      } else {
        for (const Rank rank : schedule_.groups[op.group.index()].ranks) known = known || touches(before, rank);
      }
      if (!known) {
        report(id, fmt::format("waits for op {}, which its sender takes no part in", earlier.value));
      }
    }
    if (op.kind == OpKind::barrier) return;
    if (op.kind == OpKind::transfer) {
      check_lane(id, op.src);
      check_lane(id, op.dst);
    } else {
      for (const Rank rank : schedule_.groups[op.group.index()].ranks) check_lane(id, rank);
    }
  }

  void check_lane(std::size_t id, Rank rank) {
    const Op& op = schedule_.ops[id];
    int& last = lane_round_[rank.index() * static_cast<std::size_t>(schedule_.lanes) + op.lane];
    if (op.round < last) {
      report(id, fmt::format("is in round {} of lane {}, but rank {} is in round {} already", op.round,
                             op.lane, rank.value, last));
    }
    last = std::max(last, op.round);
  }

  // Rule 5: marks the chunks that ops in `after` brought to `rank`, then looks for every parcel.
  void check_possession(std::size_t id, Rank rank) {
    const Op& op = schedule_.ops[id];
    const auto& needed = schedule_.cargos[op.cargo.index()].parcels;
    for (const ParcelId parcel : needed) covered_[parcel.index()].clear();
    for (const OpId earlier : schedule_.after_of(op)) {
      if (earlier.index() >= id) continue;
      const Op& before = schedule_.ops[earlier.index()];
      const bool brings =
          (before.kind == OpKind::transfer && before.dst == rank) ||
          ((before.kind == OpKind::all_gather || before.kind == OpKind::broadcast) && touches(before, rank));
      if (!brings) continue;
      for (const ParcelId parcel : schedule_.cargos[before.cargo.index()].parcels) {
        covered_[parcel.index()].push_back({before.chunk_begin, before.chunk_end});
      }
    }
    for (const ParcelId id_of_parcel : needed) {
      const Parcel& parcel = schedule_.parcels[id_of_parcel.index()];
      if (contains(parcel.owners, rank)) continue;
      auto& ranges = covered_[id_of_parcel.index()];
      std::sort(ranges.begin(), ranges.end());
      int reached = op.chunk_begin;
      for (const auto& [begin, end] : ranges) {
        if (begin <= reached) reached = std::max(reached, end);
      }
      if (reached < op.chunk_end) {
        report(id, fmt::format("rank {} sends chunk {} of parcel {} that it neither owns nor got in an op it "
                               "waits for",
                               rank.value, reached, id_of_parcel.value));
        return;
      }
    }
  }

  bool check_chunks(std::size_t id) {
    const Op& op = schedule_.ops[id];
    std::int64_t bytes = 0;
    for (const ParcelId parcel_id : schedule_.cargos[op.cargo.index()].parcels) {
      const Parcel& parcel = schedule_.parcels[parcel_id.index()];
      if (op.chunk_begin < 0 || op.chunk_begin >= op.chunk_end || op.chunk_end > parcel.chunks) {
        report(id, fmt::format("moves chunks {} to {} of parcel {}, which has {}", op.chunk_begin,
                               op.chunk_end, parcel_id.value, parcel.chunks));
        return false;
      }
      bytes += parcel.bytes;
    }
    const bool whole = op.chunk_begin == 0 &&
                       op.chunk_end == schedule_.parcels[schedule_.cargos[op.cargo.index()].parcels.front().index()].chunks;
    if (op.bytes < 0 || op.bytes > bytes || (whole && op.bytes != bytes)) {
      report(id, fmt::format("says {} bytes, but its parcels hold {}", op.bytes, bytes));
    }
    return true;
  }

  // Rule 4. `again_is_wrong`: a transfer must not bring what is there.
  void deliver(std::size_t id, Rank rank, bool again_is_wrong) {
    const Op& op = schedule_.ops[id];
    for (const ParcelId parcel_id : schedule_.cargos[op.cargo.index()].parcels) {
      const Parcel& parcel = schedule_.parcels[parcel_id.index()];
      const auto at = std::lower_bound(parcel.demanders.begin(), parcel.demanders.end(), rank);
      if (at == parcel.demanders.end() || *at != rank) continue;  // scratch: cargo of a relay, surplus
      if (again_is_wrong && contains(parcel.owners, rank)) {
        report(id, fmt::format("brings parcel {} to rank {}, which owns it", parcel_id.value, rank.value));
        return;
      }
      const std::size_t first = first_word_[parcel_id.index()] +
                                static_cast<std::size_t>(at - parcel.demanders.begin()) * words_of(parcel);
      for (int c = op.chunk_begin; c < op.chunk_end; ++c) {
        std::uint64_t& word = received_[first + static_cast<std::size_t>(c) / 64];
        const std::uint64_t bit = std::uint64_t{1} << (c % 64);
        if ((word & bit) != 0 && again_is_wrong) {
          report(id, fmt::format("brings chunk {} of parcel {} to rank {} a second time", c, parcel_id.value,
                                 rank.value));
          return;
        }
        word |= bit;
      }
    }
  }

  void check_transfer(std::size_t id) {
    if (!check_chunks(id)) return;
    check_possession(id, schedule_.ops[id].src);
    deliver(id, schedule_.ops[id].dst, true);
  }

  void check_all_gather(std::size_t id) {
    if (!check_chunks(id)) return;
    const Op& op = schedule_.ops[id];
    for (const ParcelId parcel_id : schedule_.cargos[op.cargo.index()].parcels) {
      const auto& owners = schedule_.parcels[parcel_id.index()].owners;
      const bool owned = std::any_of(owners.begin(), owners.end(), [&](Rank r) { return touches(op, r); });
      if (!owned) report(id, fmt::format("no rank of the group owns parcel {}", parcel_id.value));
    }
    for (const Rank rank : schedule_.groups[op.group.index()].ranks) deliver_collective(id, rank);
  }

  void check_broadcast(std::size_t id) {
    if (!check_chunks(id)) return;
    const Op& op = schedule_.ops[id];
    check_possession(id, op.src);
    for (const Rank rank : schedule_.groups[op.group.index()].ranks) deliver_collective(id, rank);
  }

  void deliver_collective(std::size_t id, Rank rank) {
    if (contains(refit_.destinations, rank)) deliver(id, rank, false);
  }

  void check_complete() {
    for (std::size_t p = 0; p < schedule_.parcels.size(); ++p) {
      const Parcel& parcel = schedule_.parcels[p];
      for (std::size_t d = 0; d < parcel.demanders.size(); ++d) {
        const Rank rank = parcel.demanders[d];
        if (contains(parcel.owners, rank)) continue;
        const std::size_t first = first_word_[p] + d * words_of(parcel);
        for (int c = 0; c < parcel.chunks; ++c) {
          const std::uint64_t word = received_[first + static_cast<std::size_t>(c) / 64];
          if ((word >> (c % 64) & 1) != 0) continue;
          const TensorClass& missing = refit_.classes[parcel.fragments.front().tensor_class.index()];
          findings_.push_back({fmt::format("rank {}", rank.value),
                               fmt::format("never receives chunk {} of parcel {} (part of {})", c, p,
                                           missing.name)});
          if (findings_.size() >= kMostFindings) return;
          break;
        }
      }
    }
  }

  const Schedule& schedule_;
  const Refit& refit_;
  Diagnostics& findings_;
  std::vector<int> lane_round_;                 // [rank][lane]: the round it is in
  std::vector<std::vector<bool>> members_;      // [group][rank]
  std::vector<std::size_t> first_word_;         // [parcel]: of its bits in received_
  std::vector<std::uint64_t> received_;         // [parcel][demander][chunk], as bits
  std::vector<std::vector<std::pair<int, int>>> covered_;  // [parcel]: scratch of check_possession
};

}  // namespace

Diagnostics verify(const Schedule& schedule, const Refit& refit) {
  Diagnostics findings = detail::verify_parcels(schedule, refit);
  if (findings.empty()) Replay(schedule, refit, findings).run();
  return findings;
}

}  // namespace refit
