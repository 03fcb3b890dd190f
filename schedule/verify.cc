#include "schedule/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "schedule/detail/op_ranks.h"
#include "schedule/detail/verify_bytes.h"
#include "schedule/detail/verify_order.h"
#include "schedule/detail/verify_parcels.h"
#include "schedule/detail/verify_shape.h"

namespace refit {
namespace {

using detail::OpRanks;

constexpr std::size_t kMostFindings = 20;

bool contains(const std::vector<Rank>& ascending, Rank rank) {
  return std::binary_search(ascending.begin(), ascending.end(), rank);
}

// Replays what the ops bring, in order: rules 4 and 5 of schedule.h.
class Replay {
 public:
  Replay(const Schedule& schedule, const Refit& refit, const OpRanks& ranks, Diagnostics& findings)
      : schedule_(schedule), refit_(refit), ranks_(ranks), findings_(findings) {
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

  void report(std::size_t id, std::string message) {
    if (findings_.size() >= kMostFindings) return;
    findings_.push_back({detail::name_of(schedule_, id), std::move(message)});
  }

  const std::vector<ParcelId>& cargo(const Op& op) const {
    return schedule_.cargos[op.cargo.index()].parcels;
  }

  // Rule 5: marks the chunks that ops in `after` brought to `rank`, then looks for every parcel.
  void check_possession(std::size_t id, Rank rank) {
    const Op& op = schedule_.ops[id];
    for (const ParcelId parcel : cargo(op)) covered_[parcel.index()].clear();
    for (const OpId earlier : schedule_.after_of(op)) {
      if (earlier.value < 0 || earlier.index() >= id) continue;
      const Op& before = schedule_.ops[earlier.index()];
      const bool is_collective =
          before.kind == OpKind::all_gather || before.kind == OpKind::broadcast;
      const bool brings = (before.kind == OpKind::transfer && before.dst == rank) ||
                          (is_collective && ranks_.touches(before, rank));
      if (!brings) continue;
      for (const ParcelId parcel : cargo(before)) {
        covered_[parcel.index()].push_back({before.chunk_begin, before.chunk_end});
      }
    }
    for (const ParcelId parcel_id : cargo(op)) {
      if (contains(schedule_.parcels[parcel_id.index()].owners, rank)) continue;
      auto& ranges = covered_[parcel_id.index()];
      std::sort(ranges.begin(), ranges.end());
      int reached = op.chunk_begin;
      for (const auto& [begin, end] : ranges) {
        if (begin <= reached) reached = std::max(reached, end);
      }
      if (reached < op.chunk_end) {
        report(id,
               fmt::format("rank {} sends chunk {} of parcel {} that it neither owns nor got in an "
                           "op it waits for",
                           rank.value, reached, parcel_id.value));
        return;
      }
    }
  }

  // Rule 4. `again_is_wrong`: a transfer must not bring what is there.
  void deliver(std::size_t id, Rank rank, bool again_is_wrong) {
    const Op& op = schedule_.ops[id];
    for (const ParcelId parcel_id : cargo(op)) {
      const Parcel& parcel = schedule_.parcels[parcel_id.index()];
      if (again_is_wrong && contains(parcel.owners, rank)) {
        report(id, fmt::format("brings parcel {} to rank {}, which owns it", parcel_id.value,
                               rank.value));
        return;
      }
      const auto at = std::lower_bound(parcel.demanders.begin(), parcel.demanders.end(), rank);
      if (at == parcel.demanders.end() || *at != rank)
        continue;  // scratch: a relay's cargo, surplus
      const std::size_t first =
          first_word_[parcel_id.index()] +
          static_cast<std::size_t>(at - parcel.demanders.begin()) * words_of(parcel);
      for (int c = op.chunk_begin; c < op.chunk_end; ++c) {
        std::uint64_t& word = received_[first + static_cast<std::size_t>(c) / 64];
        const std::uint64_t bit = std::uint64_t{1} << (c % 64);
        if ((word & bit) != 0 && again_is_wrong) {
          report(id, fmt::format("brings chunk {} of parcel {} to rank {} a second time", c,
                                 parcel_id.value, rank.value));
          return;
        }
        word |= bit;
      }
    }
  }

  void check_transfer(std::size_t id) {
    check_possession(id, schedule_.ops[id].src);
    deliver(id, schedule_.ops[id].dst, true);
  }

  void check_all_gather(std::size_t id) {
    const Op& op = schedule_.ops[id];
    for (const ParcelId parcel_id : cargo(op)) {
      const auto& owners = schedule_.parcels[parcel_id.index()].owners;
      const auto takes_part = [&](Rank r) { return ranks_.touches(op, r); };
      if (std::any_of(owners.begin(), owners.end(), takes_part)) continue;
      report(id,
             fmt::format("no rank of group {} owns parcel {}", op.group.value, parcel_id.value));
    }
    deliver_to_group(id);
  }

  void check_broadcast(std::size_t id) {
    const Op& op = schedule_.ops[id];
    if (!ranks_.touches(op, op.src)) {
      report(id,
             fmt::format("its root, rank {}, is not in group {}", op.src.value, op.group.value));
    }
    check_possession(id, op.src);
    deliver_to_group(id);
  }

  void deliver_to_group(std::size_t id) {
    for (const Rank rank : schedule_.groups[schedule_.ops[id].group.index()].ranks) {
      if (contains(refit_.destinations, rank)) deliver(id, rank, false);
    }
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
          const ClassId missing = parcel.fragments.front().tensor_class;
          findings_.push_back({fmt::format("rank {}", rank.value),
                               fmt::format("never receives chunk {} of parcel {} (part of {})", c,
                                           p, refit_.classes[missing.index()].name)});
          if (findings_.size() >= kMostFindings) return;
          break;
        }
      }
    }
  }

  const Schedule& schedule_;
  const Refit& refit_;
  const OpRanks& ranks_;
  Diagnostics& findings_;
  std::vector<std::size_t> first_word_;                    // [parcel]: of its bits in received_
  std::vector<std::uint64_t> received_;                    // [parcel][demander][chunk], as bits
  std::vector<std::vector<std::pair<int, int>>> covered_;  // [parcel]: scratch of check_possession
};

}  // namespace

Diagnostics verify(const Schedule& schedule, const Refit& refit) {
  // Each part relies on what the one before has shown.
  Diagnostics findings = detail::verify_shape(schedule, refit);
  if (findings.empty()) findings = detail::verify_parcels(schedule, refit);
  if (!findings.empty()) return findings;
  const OpRanks ranks(schedule);
  detail::verify_order(schedule, ranks, kMostFindings, findings);
  detail::verify_bytes(schedule, refit, kMostFindings, findings);
  Replay(schedule, refit, ranks, findings).run();
  return findings;
}

}  // namespace refit
