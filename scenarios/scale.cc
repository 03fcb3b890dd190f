#include "scenarios/scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"

namespace refit {
namespace {

double byte_factor(const Refit& from, const Refit& to) {
  return static_cast<double>(to.unique_bytes()) / static_cast<double>(from.unique_bytes());
}

std::int64_t times(std::int64_t bytes, double factor) {
  if (bytes == 0) return 0;
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(bytes) * factor));
}

// Whether every rank of the mesh holds all rows of a dim.
bool is_whole(const Layout& layout, std::size_t dim) {
  const IntervalSet all = Interval{0, layout.shape()[dim]};
  const std::vector<IntervalSet> pieces = layout.dim_pieces(static_cast<int>(dim)).pieces;
  return std::all_of(pieces.begin(), pieces.end(),
                     [&](const IntervalSet& piece) { return piece == all; });
}

// The lengths of a class in small. The first dim counts members, which are messages' headings, not
// their weight: it stays.
std::vector<std::int64_t> small_shape(const TensorClass& c, double factor) {
  std::vector<std::int64_t> shape = c.shape();
  std::vector<std::size_t> dims;
  for (std::size_t d = 1; d < shape.size(); ++d) {
    if (is_whole(c.source, d) && is_whole(c.destination, d)) dims.push_back(d);
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [&](std::size_t a, std::size_t b) { return shape[a] > shape[b]; });
  double left = factor;  // what the dims that follow must still shrink by
  for (const std::size_t d : dims) {
    const auto rows = static_cast<double>(shape[d]);
    shape[d] = std::clamp<std::int64_t>(std::llround(rows * left), 1, shape[d]);
    left = std::min(1.0, left * rows / static_cast<double>(shape[d]));
  }
  return shape;
}

// The same placements on another shape. A dim that may have shrunk is whole everywhere, so that
// nothing cuts it: a split that spells its rows out must not speak of rows that are gone.
Layout reshaped(const Layout& layout, const std::vector<std::int64_t>& shape) {
  std::vector<Placement> placements = layout.placements();
  for (Placement& placement : placements) {
    const auto dim = static_cast<std::size_t>(placement.dim);
    if (placement.sharded && shape[dim] != layout.shape()[dim]) placement = replicate();
  }
  return Layout(shape, layout.mesh(), std::move(placements));
}

Cluster slower(const Cluster& cluster, double factor) {
  ClusterSpec spec = cluster.spec();
  for (NodeGroupSpec& group : spec.groups) {
    group.nvlink_bytes_per_s *= factor;
    group.nic_bytes_per_s *= factor;
    if (group.pcie_bytes_per_s) *group.pcie_bytes_per_s *= factor;
    for (GpuNics& gpu : group.gpu_nics) gpu.path_bytes_per_s *= factor;
  }
  for (FabricSpec& fabric : spec.fabrics) {
    for (double& rate : fabric.trunk_bytes_per_s) rate *= factor;
  }
  for (WanSpec& wan : spec.wans) wan.bytes_per_s *= factor;
  return Cluster(std::move(spec));
}

// Region by region: whole sides stay whole.
Region small_region(const Region& region, const std::vector<std::int64_t>& from,
                    const std::vector<std::int64_t>& to, const std::string& tensor) {
  Region result = region;
  for (std::size_t d = 0; d < region.size(); ++d) {
    if (from[d] == to[d]) continue;
    if (region[d] != Interval{0, from[d]}) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: the plan takes rows {} to {} of dim {}, which has {}; a plan "
                              "can be scaled if it cuts only where a layout does",
                              tensor, region[d].begin, region[d].end, d, from[d]));
    }
    result[d] = {0, to[d]};
  }
  return result;
}

// Bytes of chunks 0 .. c-1 of each parcel.
using Sums = std::vector<std::vector<std::int64_t>>;

Sums chunk_sums(const Schedule& schedule, const Refit& refit) {
  Sums sums;
  for (const Parcel& parcel : schedule.parcels) sums.push_back(chunk_wire_sums(refit, parcel));
  return sums;
}

std::int64_t op_bytes(const Schedule& schedule, const Op& op, const Sums& sums) {
  std::int64_t bytes = 0;
  for (const ParcelId id : schedule.cargos[op.cargo.index()].parcels) {
    const std::vector<std::int64_t>& sum = sums[id.index()];
    bytes +=
        sum[static_cast<std::size_t>(op.chunk_end)] - sum[static_cast<std::size_t>(op.chunk_begin)];
  }
  return bytes;
}

// Each phase's content, once however many receive it.
void count_logical_bytes(Schedule& schedule) {
  std::vector<std::vector<bool>> counted(schedule.phases.size(),
                                         std::vector<bool>(schedule.parcels.size(), false));
  for (Phase& phase : schedule.phases) phase.logical_bytes = 0;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::compute || op.kind == OpKind::barrier) continue;
    for (const ParcelId id : schedule.cargos[op.cargo.index()].parcels) {
      if (counted[op.phase][id.index()]) continue;
      counted[op.phase][id.index()] = true;
      schedule.phases[op.phase].logical_bytes += schedule.parcels[id.index()].bytes;
    }
  }
}

}  // namespace

Scenario scaled(const Scenario& scenario, double factor) {
  if (!(factor > 0 && factor <= 1)) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("a scale of {}: use more than 0 and at most 1, such as 1/2000", factor));
  }
  Scenario small = scenario;
  small.cluster = slower(scenario.cluster, factor);
  for (TensorClass& c : small.refit.classes) {
    const std::vector<std::int64_t> shape = small_shape(c, factor);
    c.source = reshaped(c.source, shape);
    c.destination = reshaped(c.destination, shape);
  }
  // About as many buckets as before.
  small.plan.bucket_bytes =
      times(scenario.plan.bucket_bytes, byte_factor(scenario.refit, small.refit));
  return small;
}

Schedule scaled(const Schedule& schedule, const Refit& from, const Refit& to) {
  REFIT_CHECK(from.classes.size() == to.classes.size());
  Schedule small = schedule;
  for (Parcel& parcel : small.parcels) {
    parcel.bytes = 0;
    for (Fragment& fragment : parcel.fragments) {
      const TensorClass& before = from.classes[fragment.tensor_class.index()];
      const TensorClass& after = to.classes[fragment.tensor_class.index()];
      fragment.region = small_region(fragment.region, before.shape(), after.shape(), before.name);
      parcel.bytes += bytes_of(to, fragment);
    }
  }
  const Sums sums = chunk_sums(small, to);
  const double factor = byte_factor(from, to);
  for (Op& op : small.ops) {
    if (op.kind == OpKind::compute) {
      op.bytes = times(op.bytes, factor);
    } else if (op.kind != OpKind::barrier) {
      op.bytes = op_bytes(small, op, sums);
    }
  }
  count_logical_bytes(small);
  return small;
}

}  // namespace refit
