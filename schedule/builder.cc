#include "schedule/builder.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"

namespace refit {
namespace {

Op op_in(Slot slot, OpKind kind) {
  Op op;
  op.kind = kind;
  op.lane = static_cast<std::uint8_t>(slot.lane);
  op.round = slot.round;
  return op;
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(const Refit& refit, std::string strategy,
                                 std::vector<Parcel> parcels, int lanes)
    : refit_(refit), next_round_(static_cast<std::size_t>(lanes), 0) {
  schedule_.strategy = std::move(strategy);
  schedule_.ranks = refit.ranks;
  schedule_.lanes = lanes;
  schedule_.parcels = std::move(parcels);
  parcel_bytes_.resize(schedule_.parcels.size());
}

GroupId ScheduleBuilder::group(std::vector<Rank> ranks, int width) {
  REFIT_CHECK(width > 0 && ranks.size() % static_cast<std::size_t>(width) == 0);
  const auto [at, is_new] = groups_.try_emplace({std::move(ranks), width},
                                                GroupId(static_cast<std::int64_t>(groups_.size())));
  if (is_new) schedule_.groups.push_back({at->first.first, width});
  return at->second;
}

GroupId ScheduleBuilder::group(std::vector<Rank> ranks) {
  const int width = static_cast<int>(ranks.size());
  return group(std::move(ranks), width);
}

CargoId ScheduleBuilder::cargo(std::vector<ParcelId> parcels) {
  REFIT_CHECK(!parcels.empty());
  const auto [at, is_new] =
      cargos_.try_emplace(std::move(parcels), CargoId(static_cast<std::int64_t>(cargos_.size())));
  if (is_new) {
    schedule_.cargos.push_back({at->first});
    cargo_bytes_.emplace_back();
    cargo_in_phase_.push_back(-1);
  }
  return at->second;
}

int ScheduleBuilder::begin_phase(std::string name) {
  schedule_.phases.push_back({std::move(name), 0});
  moved_.emplace_back(schedule_.parcels.size(), false);
  phase_ = static_cast<int>(schedule_.phases.size()) - 1;
  return phase_;
}

void ScheduleBuilder::continue_phase(int phase) {
  REFIT_CHECK(0 <= phase && phase < static_cast<int>(schedule_.phases.size()));
  phase_ = phase;
}

std::int64_t ScheduleBuilder::cargo_bytes(CargoId cargo, ChunkRange chunks) {
  std::vector<std::int64_t>& sums = cargo_bytes_[cargo.index()];
  if (sums.empty()) {
    const std::vector<ParcelId>& members = schedule_.cargos[cargo.index()].parcels;
    const int count = schedule_.parcels[members.front().index()].chunks;
    sums.assign(static_cast<std::size_t>(count) + 1, 0);
    for (const ParcelId id : members) {
      const Parcel& parcel = schedule_.parcels[id.index()];
      REFIT_CHECK(parcel.chunks == count);
      std::vector<std::int64_t>& own = parcel_bytes_[id.index()];
      if (own.empty()) own = chunk_wire_sums(refit_, parcel);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += own[c];
    }
  }
  return sums[static_cast<std::size_t>(chunks.end)] - sums[static_cast<std::size_t>(chunks.begin)];
}

void ScheduleBuilder::note_moved(CargoId cargo) {
  REFIT_CHECK(!schedule_.phases.empty());
  if (cargo_in_phase_[cargo.index()] == phase_) return;
  cargo_in_phase_[cargo.index()] = phase_;
  std::vector<bool>& moved = moved_[static_cast<std::size_t>(phase_)];
  for (const ParcelId id : schedule_.cargos[cargo.index()].parcels) {
    if (moved[id.index()]) continue;
    moved[id.index()] = true;
    schedule_.phases[static_cast<std::size_t>(phase_)].logical_bytes +=
        schedule_.parcels[id.index()].bytes;
  }
}

OpId ScheduleBuilder::append(Op op, const std::vector<OpId>& after) {
  const OpId id(static_cast<std::int64_t>(schedule_.ops.size()));
  op.phase = static_cast<std::uint8_t>(phase_);
  op.after_begin = static_cast<std::uint32_t>(schedule_.after.size());
  for (const OpId earlier : after) {
    REFIT_CHECK(earlier < id);
    schedule_.after.push_back(earlier);
  }
  op.after_end = static_cast<std::uint32_t>(schedule_.after.size());
  if (op.kind != OpKind::barrier) {
    int& next = next_round_[op.lane];
    next = std::max(next, op.round + 1);
  }
  schedule_.ops.push_back(op);
  return id;
}

OpId ScheduleBuilder::move(Op op, CargoId cargo, ChunkRange chunks,
                           const std::vector<OpId>& after) {
  op.cargo = cargo;
  op.chunk_begin = chunks.begin;
  op.chunk_end = chunks.end;
  op.bytes = cargo_bytes(cargo, chunks);
  note_moved(cargo);
  return append(op, after);
}

void ScheduleBuilder::set_caps(const LinkCaps& caps, int ctas) {
  schedule_.caps = caps;
  schedule_.ctas = ctas;
}

void ScheduleBuilder::set_window(int lane, LaneWindow window) {
  REFIT_CHECK(window.send.size() == static_cast<std::size_t>(schedule_.ranks) &&
              window.receive.size() == window.send.size());
  schedule_.windows.resize(static_cast<std::size_t>(schedule_.lanes));
  schedule_.windows[static_cast<std::size_t>(lane)] = std::move(window);
}

OpId ScheduleBuilder::transfer(Slot slot, Rank src, Rank dst, CargoId cargo, ChunkRange chunks,
                               const std::vector<OpId>& after) {
  Op op = op_in(slot, OpKind::transfer);
  op.src = src;
  op.dst = dst;
  return move(op, cargo, chunks, after);
}

OpId ScheduleBuilder::all_gather(Slot slot, GroupId group, CargoId cargo, ChunkRange chunks,
                                 const std::vector<OpId>& after) {
  Op op = op_in(slot, OpKind::all_gather);
  op.group = group;
  return move(op, cargo, chunks, after);
}

OpId ScheduleBuilder::broadcast(Slot slot, Rank root, GroupId group, CargoId cargo,
                                ChunkRange chunks, const std::vector<OpId>& after, Work how) {
  Op op = op_in(slot, OpKind::broadcast);
  op.work = how;
  op.src = root;
  op.group = group;
  return move(op, cargo, chunks, after);
}

OpId ScheduleBuilder::compute(Slot slot, Work work, GroupId group, std::int64_t count,
                              std::int64_t bytes, const std::vector<OpId>& after) {
  Op op = op_in(slot, OpKind::compute);
  op.work = work;
  op.group = group;
  if (count > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{} pieces to {} in one step; a plan counts up to {}", count,
                            to_string(work), std::numeric_limits<std::int32_t>::max()));
  }
  op.count = static_cast<std::int32_t>(count);
  op.bytes = bytes;
  return append(op, after);
}

OpId ScheduleBuilder::barrier(GroupId group) {
  Op op;
  op.kind = OpKind::barrier;
  op.group = group;
  return append(op, {});
}

Schedule ScheduleBuilder::finish() && { return std::move(schedule_); }

}  // namespace refit
