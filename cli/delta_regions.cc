#include "cli/delta_regions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/units.h"

namespace refit {
namespace {

int element_bytes_of(const SafetensorsTensor& tensor) {
  if (tensor.bits % 32 == 0) return 4;
  return tensor.bits == 16 ? 2 : 1;
}

std::string what(const SafetensorsTensor& tensor) {
  return fmt::format("{} [{}]", tensor.dtype, fmt::join(tensor.shape, ", "));
}

const CheckpointTensor& tensor_of(const SafetensorsCheckpoint& checkpoint, const DeltaIndex& index,
                                  std::size_t position) {
  return checkpoint.tensors().at(index.regions[index.segments.at(position).region].tensor);
}

// Where a segment lies in its tensor, in bytes.
std::pair<std::uint64_t, std::uint64_t> stretch(const DeltaIndex& index, std::size_t position) {
  const DeltaSegment& segment = index.segments.at(position);
  const auto width = static_cast<std::uint64_t>(index.regions[segment.region].element_bytes);
  return {segment.first_element * width, segment.elements * width};
}

}  // namespace

DeltaIndex regions_of(const SafetensorsCheckpoint& checkpoint, DeltaHeader header) {
  Hasher128 model;
  std::vector<DeltaRegion> regions;
  for (std::size_t i = 0; i < checkpoint.tensors().size(); ++i) {
    const SafetensorsTensor& tensor = checkpoint.tensors()[i].tensor;
    model.add(tensor.name).add(tensor.dtype).add(std::uint64_t{tensor.shape.size()});
    for (const std::uint64_t size : tensor.shape) model.add(size);
    if (tensor.bytes == 0) continue;
    DeltaRegion region;
    region.id = static_cast<std::uint32_t>(i);
    region.tensor = static_cast<std::uint32_t>(i);
    region.element_bytes = element_bytes_of(tensor);
    region.box = DeltaBox::whole(tensor.bytes / static_cast<std::uint64_t>(region.element_bytes));
    regions.push_back(region);
  }
  header.model_id = model.digest();
  DeltaIndex index = cut_into_segments(header, std::move(regions));
  index.header.plan_hash = geometry_hash(index);
  return index;
}

void require_same_tensors(const SafetensorsCheckpoint& a, const SafetensorsCheckpoint& b) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format(
            "{} and {}: {}; a delta is between checkpoints of one model, send this one whole",
            a.path(), b.path(), problem));
  };
  const auto& of_a = a.tensors();
  const auto& of_b = b.tensors();
  for (std::size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
    if (i == of_b.size() || (i < of_a.size() && of_a[i].tensor.name < of_b[i].tensor.name)) {
      refuse(fmt::format("tensor {} is only in the first", of_a[i].tensor.name));
    }
    if (i == of_a.size() || of_b[i].tensor.name < of_a[i].tensor.name) {
      refuse(fmt::format("tensor {} is only in the second", of_b[i].tensor.name));
    }
    if (of_a[i].tensor.dtype != of_b[i].tensor.dtype ||
        of_a[i].tensor.shape != of_b[i].tensor.shape) {
      refuse(fmt::format("tensor {} is {} in the first and {} in the second", of_a[i].tensor.name,
                         what(of_a[i].tensor), what(of_b[i].tensor)));
    }
  }
}

void require_fits(const DeltaFile& delta, const SafetensorsCheckpoint& checkpoint) {
  const DeltaIndex& index = delta.index();
  const DeltaIndex expected = regions_of(checkpoint, index.header);
  if (index.header.model_id != expected.header.model_id) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: is for a model {}, {} is {}: other names, dtypes or shapes of tensors",
                    delta.where(), to_hex(index.header.model_id), checkpoint.path(),
                    to_hex(expected.header.model_id)));
  }
  if (index.header.plan_hash != expected.header.plan_hash ||
      geometry_hash(index) != expected.header.plan_hash) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format(
            "{}: does not hold the tensors of {} whole; refit delta diff makes deltas that do",
            delta.where(), checkpoint.path()));
  }
}

std::span<const std::byte> elements_of(const SafetensorsCheckpoint& checkpoint,
                                       const DeltaIndex& index, std::size_t position) {
  const auto [begin, bytes] = stretch(index, position);
  return checkpoint.data(tensor_of(checkpoint, index, position)).subspan(begin, bytes);
}

std::span<std::byte> writable_elements_of(SafetensorsCheckpoint& checkpoint,
                                          const DeltaIndex& index, std::size_t position) {
  const auto [begin, bytes] = stretch(index, position);
  return checkpoint.writable_data(tensor_of(checkpoint, index, position)).subspan(begin, bytes);
}

std::string place_in(const SafetensorsCheckpoint& checkpoint, const DeltaIndex& index,
                     std::size_t position) {
  const DeltaSegment& segment = index.segments.at(position);
  const auto first = static_cast<std::int64_t>(segment.first_element);
  return fmt::format("{}, elements {} to {}", tensor_of(checkpoint, index, position).tensor.name,
                     format_count(first), format_count(first + segment.elements - 1));
}

}  // namespace refit
