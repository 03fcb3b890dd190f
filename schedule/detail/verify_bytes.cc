#include "schedule/detail/verify_bytes.h"

#include <fmt/format.h>

#include "schedule/detail/op_ranks.h"

namespace refit::detail {
namespace {

using Sums = std::vector<std::int64_t>;  // [c]: bytes of chunks 0 .. c-1; empty: not counted yet

class Bytes {
 public:
  Bytes(const Schedule& schedule, const Refit& refit)
      : schedule_(schedule),
        refit_(refit),
        of_parcel_(schedule.parcels.size()),
        of_cargo_(schedule.cargos.size()) {}

  std::int64_t of(const Op& op) {
    const Sums& sums = of_cargo(op.cargo);
    return sums[static_cast<std::size_t>(op.chunk_end)] -
           sums[static_cast<std::size_t>(op.chunk_begin)];
  }

 private:
  const Sums& of_cargo(CargoId id) {
    Sums& sums = of_cargo_[id.index()];
    if (!sums.empty()) return sums;
    for (const ParcelId parcel : schedule_.cargos[id.index()].parcels) {
      const Sums& part = of_parcel(parcel);
      sums.resize(part.size(), 0);
      for (std::size_t c = 0; c < part.size(); ++c) sums[c] += part[c];
    }
    return sums;
  }

  const Sums& of_parcel(ParcelId id) {
    Sums& sums = of_parcel_[id.index()];
    if (sums.empty()) sums = chunk_wire_sums(refit_, schedule_.parcels[id.index()]);
    return sums;
  }

  const Schedule& schedule_;
  const Refit& refit_;
  std::vector<Sums> of_parcel_, of_cargo_;
};

void check_phases(const Schedule& schedule, std::size_t most, Diagnostics& findings) {
  std::vector<std::vector<bool>> has_cargo(schedule.phases.size());
  for (const Op& op : schedule.ops) {
    if (!moves_bytes(op)) continue;
    has_cargo[op.phase].resize(schedule.cargos.size(), false);
    has_cargo[op.phase][op.cargo.index()] = true;
  }
  for (std::size_t p = 0; p < schedule.phases.size() && findings.size() < most; ++p) {
    std::vector<bool> counted(schedule.parcels.size(), false);
    std::int64_t bytes = 0;
    for (std::size_t c = 0; c < has_cargo[p].size(); ++c) {
      if (!has_cargo[p][c]) continue;
      for (const ParcelId id : schedule.cargos[c].parcels) {
        if (!counted[id.index()]) bytes += schedule.parcels[id.index()].bytes;
        counted[id.index()] = true;
      }
    }
    const Phase& phase = schedule.phases[p];
    if (bytes == phase.logical_bytes) continue;
    findings.push_back({fmt::format("phase {} ({})", p, phase.name),
                        fmt::format("says {} logical bytes, but its ops move parcels of {}",
                                    phase.logical_bytes, bytes)});
  }
}

}  // namespace

void verify_bytes(const Schedule& schedule, const Refit& refit, std::size_t most,
                  Diagnostics& findings) {
  Bytes bytes(schedule, refit);
  for (std::size_t id = 0; id < schedule.ops.size() && findings.size() < most; ++id) {
    const Op& op = schedule.ops[id];
    if (!moves_bytes(op) || op.bytes == bytes.of(op)) continue;
    findings.push_back(
        {name_of(schedule, id), fmt::format("says {} bytes, but its chunks {} {}", op.bytes,
                                            schedule.coding ? "travel as" : "hold", bytes.of(op))});
  }
  check_phases(schedule, most, findings);
}

}  // namespace refit::detail
