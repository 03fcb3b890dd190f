#include "schedule/verify.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedule/detail/op_ranks.h"
#include "schedule/detail/rank_sets.h"
#include "schedule/detail/received.h"
#include "schedule/detail/verify_bytes.h"
#include "schedule/detail/verify_order.h"
#include "schedule/detail/verify_parcels.h"
#include "schedule/detail/verify_shape.h"

namespace refit {
namespace {

using detail::OpRanks;

constexpr std::size_t kMostFindings = 20;
constexpr std::size_t kLargeCargo = 16;  // parcels

// Replays what the ops bring, in order: rules 4 and 5 of schedule.h.
class Replay {
 public:
  Replay(const Schedule& schedule, const Refit& refit, const OpRanks& ranks, Diagnostics& findings)
      : schedule_(schedule),
        refit_(refit),
        ranks_(ranks),
        findings_(findings),
        received_(schedule.parcels),
        covered_(schedule.parcels.size()),
        foreign_to_(schedule.parcels.size(), schedule.ops.size()) {
    for (const Parcel& parcel : schedule.parcels) owners_of_.push_back(owners_.add(parcel.owners));
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
  void report(std::size_t id, std::string message) {
    if (findings_.size() >= kMostFindings) return;
    findings_.push_back({detail::name_of(schedule_, id), std::move(message)});
  }

  const std::vector<ParcelId>& cargo(const Op& op) const {
    return schedule_.cargos[op.cargo.index()].parcels;
  }

  bool owns(Rank rank, ParcelId parcel) {
    return owners_.place(owners_of_[parcel.index()], rank).has_value();
  }

  // Whether the op `earlier` is before `id` and brings its cargo to `rank`.
  bool brings(OpId earlier, std::size_t id, Rank rank) const {
    if (earlier.value < 0 || earlier.index() >= id) return false;
    const Op& before = schedule_.ops[earlier.index()];
    return (before.kind == OpKind::transfer && before.dst == rank) ||
           (is_collective(before) && ranks_.touches(before, rank));
  }

  // Whether all parcels of a large cargo are in the other. Large ones are few, so that answers are
  // kept.
  bool is_part(CargoId part, CargoId whole) {
    if (part == whole) return true;
    if (schedule_.cargos[whole.index()].parcels.size() < kLargeCargo) return false;
    const auto [known, first_time] = is_part_.try_emplace({part, whole}, false);
    if (first_time) {
      std::vector<ParcelId> sorted = schedule_.cargos[whole.index()].parcels;
      std::sort(sorted.begin(), sorted.end());
      const auto& parcels = schedule_.cargos[part.index()].parcels;
      known->second = std::all_of(parcels.begin(), parcels.end(), [&](ParcelId parcel) {
        return std::binary_search(sorted.begin(), sorted.end(), parcel);
      });
    }
    return known->second;
  }

  // Most relays of large cargos pass on what one op brought them: then no parcel need be looked at.
  bool passes_on(std::size_t id, Rank rank) {
    const Op& op = schedule_.ops[id];
    if (cargo(op).size() < kLargeCargo) return false;
    for (const OpId earlier : schedule_.after_of(op)) {
      if (!brings(earlier, id, rank)) continue;
      const Op& before = schedule_.ops[earlier.index()];
      if (before.chunk_begin <= op.chunk_begin && before.chunk_end >= op.chunk_end &&
          is_part(op.cargo, before.cargo))
        return true;
    }
    return false;
  }

  // Rule 5: marks the chunks that ops in `after` brought to `rank` of what it does not own, then
  // looks for every parcel.
  void check_possession(std::size_t id, Rank rank) {
    if (passes_on(id, rank)) return;
    const Op& op = schedule_.ops[id];
    foreign_.clear();
    for (const ParcelId parcel : cargo(op)) {
      if (owns(rank, parcel)) continue;
      foreign_.push_back(parcel);
      covered_[parcel.index()].clear();
      foreign_to_[parcel.index()] = id;
    }
    if (foreign_.empty()) return;
    for (const OpId earlier : schedule_.after_of(op)) {
      if (!brings(earlier, id, rank)) continue;
      const Op& before = schedule_.ops[earlier.index()];
      for (const ParcelId parcel : cargo(before)) {
        if (foreign_to_[parcel.index()] == id)
          covered_[parcel.index()].push_back({before.chunk_begin, before.chunk_end});
      }
    }
    for (const ParcelId parcel_id : foreign_) {
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

  // Rule 4, of transfers: they must not bring what is there.
  void deliver(std::size_t id, Rank rank) {
    const Op& op = schedule_.ops[id];
    for (const ParcelId parcel_id : cargo(op)) {
      if (owns(rank, parcel_id)) {
        report(id, fmt::format("brings parcel {} to rank {}, which owns it", parcel_id.value,
                               rank.value));
        return;
      }
      const auto demander = received_.demander(parcel_id, rank);
      if (!demander) continue;  // scratch: cargo of a relay
      if (const int chunk = received_.mark(parcel_id, *demander, op); chunk >= 0) {
        report(id, fmt::format("brings chunk {} of parcel {} to rank {} a second time", chunk,
                               parcel_id.value, rank.value));
        return;
      }
    }
  }

  // Rule 4, of collectives: they deliver only to members that lack the chunk.
  void deliver_to_group(std::size_t id) {
    const Op& op = schedule_.ops[id];
    const auto takes_part = [&](Rank rank) { return ranks_.touches(op, rank); };
    for (const ParcelId parcel : cargo(op)) received_.mark_group(parcel, op, takes_part);
  }

  void check_transfer(std::size_t id) {
    check_possession(id, schedule_.ops[id].src);
    deliver(id, schedule_.ops[id].dst);
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

  void check_complete() {
    for (std::size_t p = 0; p < schedule_.parcels.size(); ++p) {
      const Parcel& parcel = schedule_.parcels[p];
      const ParcelId id(static_cast<std::int64_t>(p));
      if (received_.all_have_all(id, parcel.chunks)) continue;
      for (std::size_t d = 0; d < parcel.demanders.size(); ++d) {
        if (received_.has_all(id, d, parcel.chunks)) continue;
        const Rank rank = parcel.demanders[d];
        if (owns(rank, id)) continue;
        for (int c = 0; c < parcel.chunks; ++c) {
          if (received_.has(id, d, c)) continue;
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
  detail::Received received_;
  detail::RankSets owners_;
  std::vector<std::size_t> owners_of_;  // by parcel
  std::map<std::pair<CargoId, CargoId>, bool> is_part_;
  // Scratch of check_possession: what the sender does not own; by parcel, which op asked last, and
  // which chunks were brought for it.
  std::vector<ParcelId> foreign_;
  std::vector<std::vector<std::pair<int, int>>> covered_;
  std::vector<std::size_t> foreign_to_;
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
