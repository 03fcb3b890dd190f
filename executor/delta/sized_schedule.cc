#include "executor/delta/sized_schedule.h"

#include <algorithm>

namespace refit {
namespace {

std::uint64_t receivers(const Schedule& schedule, const Op& op, const Parcel& parcel) {
  if (op.kind == OpKind::transfer) return 1;
  const std::vector<Rank>& ranks = schedule.groups[op.group.index()].ranks;
  if (op.kind == OpKind::broadcast) return ranks.size() - 1;
  std::uint64_t lack = 0;
  for (const Rank rank : ranks)
    if (!std::ranges::binary_search(parcel.owners, rank)) ++lack;
  return lack;
}

}  // namespace

Schedule sized_schedule(const Schedule& schedule, const DeltaGeometry& geometry,
                        const std::vector<std::uint64_t>& payload_bytes) {
  Schedule sized = schedule;
  for (Op& op : sized.ops) {
    if (is_coding(op.work)) op.bytes = 0;
    if (!moves_bytes(op)) continue;
    op.bytes = 0;
    for (const ParcelId id : sized.cargos[op.cargo.index()].parcels) {
      for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk)
        op.bytes += static_cast<std::int64_t>(payload_bytes[geometry.chunk(id, chunk)]);
    }
  }
  return sized;
}

MoveOptions sized_moves(const MoveOptions& options, const DeltaGeometry& geometry,
                        const std::vector<std::uint64_t>& payload_bytes) {
  MoveOptions sized = options;
  sized.chunk_bytes = [&](ParcelId parcel, int chunk) {
    return static_cast<std::int64_t>(payload_bytes[geometry.chunk(parcel, chunk)]);
  };
  return sized;
}

std::uint64_t dense_wire_bytes(const Schedule& schedule, const Refit& refit) {
  std::uint64_t sum = 0;
  for (const Op& op : schedule.ops) {
    if (!moves_bytes(op)) continue;
    for (const ParcelId id : schedule.cargos[op.cargo.index()].parcels) {
      const Parcel& parcel = schedule.parcels[id.index()];
      for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk)
        sum += static_cast<std::uint64_t>(chunk_bytes(refit, parcel, chunk)) *
               receivers(schedule, op, parcel);
    }
  }
  return sum;
}

}  // namespace refit
