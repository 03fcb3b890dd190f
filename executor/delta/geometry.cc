#include "executor/delta/geometry.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

DeltaBox box_of(const TensorClass& c, const Region& region) {
  if (region.size() > 4) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: {} dims with the one of its like tensors; deltas are run for 4",
                            c.name, region.size()));
  }
  DeltaBox box;
  box.dims = static_cast<int>(region.size());
  for (std::size_t d = 0; d < region.size(); ++d) {
    box.shape[d] = static_cast<std::uint64_t>(c.shape()[d]);
    box.offset[d] = static_cast<std::uint64_t>(region[d].begin);
    box.extent[d] = static_cast<std::uint64_t>(region[d].size());
  }
  return box;
}

int width_of(const TensorClass& c) {
  const int width = bytes_per_element(c.dtype);
  if (width <= 4) return width;
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: elements of {} bytes ({}); deltas are of 1, 2 or 4", c.name, width,
                          to_string(c.dtype)));
}

}  // namespace

DeltaGeometry::DeltaGeometry(const Refit& refit, const Schedule& schedule,
                             std::uint32_t segment_elements)
    : segment_elements_(segment_elements) {
  for (const Parcel& parcel : schedule.parcels) {
    first_chunk_.push_back(regions_of_chunk_.size());
    for (int chunk = 0; chunk < parcel.chunks; ++chunk) {
      regions_of_chunk_.push_back(regions_.size());
      for (const Fragment& fragment : parcel.fragments) {
        auto part = slice(fragment.region, chunk, parcel.chunks);
        if (!part) continue;
        if (regions_.size() == std::numeric_limits<std::uint32_t>::max())
          throw Error(ErrorCode::bad_input, "the plan has more than 2^32 regions");
        const TensorClass& c = refit.classes[fragment.tensor_class.index()];
        DeltaRegion delta;
        delta.id = static_cast<std::uint32_t>(regions_.size());
        delta.tensor = static_cast<std::uint32_t>(fragment.tensor_class.index());
        delta.element_bytes = width_of(c);
        delta.box = box_of(c, *part);
        regions_.push_back({delta, std::move(*part)});
      }
    }
  }
  regions_of_chunk_.push_back(regions_.size());

  Hasher128 hash;
  hash.add(std::uint64_t{segment_elements});
  for (std::size_t chunk = 0; chunk < chunks(); ++chunk) {
    for (const PlacedRegion& placed : regions(chunk)) {
      hash.add(std::uint64_t{chunk}).add(std::uint64_t{placed.delta.tensor});
      hash.add(static_cast<std::uint64_t>(placed.delta.element_bytes));
      for (const Interval& side : placed.region) {
        hash.add(static_cast<std::uint64_t>(side.begin));
        hash.add(static_cast<std::uint64_t>(side.end));
      }
    }
  }
  hash_ = hash.digest();
}

std::size_t DeltaGeometry::chunk_of_region(std::uint32_t id) const {
  // Chunks without content begin where the next one does.
  const auto next = std::ranges::upper_bound(regions_of_chunk_, std::size_t{id});
  return static_cast<std::size_t>(next - regions_of_chunk_.begin()) - 1;
}

std::uint32_t DeltaGeometry::segments(std::size_t chunk) const {
  std::uint64_t count = 0;
  for (const PlacedRegion& placed : regions(chunk))
    count += (placed.delta.box.elements() + segment_elements_ - 1) / segment_elements_;
  return static_cast<std::uint32_t>(count);
}

std::uint64_t DeltaGeometry::mark() const {
  std::uint64_t mark = 0;
  std::memcpy(&mark, hash_.bytes.data(), sizeof mark);
  return mark;
}

DeltaIndex DeltaGeometry::index_of(std::span<const std::size_t> chunks,
                                   const DeltaHeader& header) const {
  std::vector<DeltaRegion> regions;
  for (const std::size_t chunk : chunks) {
    for (const PlacedRegion& placed : this->regions(chunk)) regions.push_back(placed.delta);
  }
  DeltaHeader full = header;
  full.segment_elements = segment_elements_;
  full.plan_hash = hash_;
  return cut_into_segments(full, std::move(regions));
}

}  // namespace refit
