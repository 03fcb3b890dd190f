#include "executor/delta/sized_schedule.h"

namespace refit {

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

}  // namespace refit
