#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "delta/container.h"
#include "delta/delta_file.h"
#include "delta/diff.h"
#include "delta/region_memory.h"

namespace refit {

using ByteVector = std::vector<std::byte>;

// Elements of 16 bits that look like BF16 weights around 0.02.
inline ByteVector random_weights(std::size_t elements, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0.0F, 0.02F);
  ByteVector bytes(2 * elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = normal(random);
    std::memcpy(&bytes[2 * i], reinterpret_cast<const char*>(&value) + 2, 2);
  }
  return bytes;
}

// About one element of `one_in` moves by one unit in the last place.
inline ByteVector updated(ByteVector weights, int one_in, std::mt19937_64& random) {
  for (std::size_t i = 0; i + 1 < weights.size(); i += 2) {
    if (random() % static_cast<unsigned>(one_in) != 0) continue;
    std::uint16_t bits = 0;
    std::memcpy(&bits, &weights[i], 2);
    bits = static_cast<std::uint16_t>(random() % 2 == 0 ? bits + 1 : bits - 1);
    std::memcpy(&weights[i], &bits, 2);
  }
  return weights;
}

// Regions that lie one behind the other in one buffer of 16-bit elements, each a tensor.
struct RegionSizes {
  std::vector<std::uint64_t> elements;
  std::uint32_t segment_elements = 64;

  std::size_t total() const {
    std::size_t sum = 0;
    for (const std::uint64_t count : elements) sum += count;
    return sum;
  }

  DeltaHeader header(std::uint64_t base, std::uint64_t target) const {
    DeltaHeader header;
    header.segment_elements = segment_elements;
    header.model_id.bytes[0] = std::byte{1};
    header.plan_hash.bytes[0] = std::byte{2};
    header.base_version = base;
    header.target_version = target;
    return header;
  }

  std::vector<DeltaRegion> regions() const {
    std::vector<DeltaRegion> regions;
    for (std::size_t r = 0; r < elements.size(); ++r) {
      DeltaRegion region;
      region.id = static_cast<std::uint32_t>(10 * r + 3);
      region.tensor = static_cast<std::uint32_t>(r);
      region.box = DeltaBox::whole(elements[r]);
      regions.push_back(region);
    }
    return regions;
  }

  template <typename Byte>
  std::vector<BasicRegionMemory<Byte>> memory(std::span<Byte> weights) const {
    std::vector<BasicRegionMemory<Byte>> parts;
    std::size_t at = 0;
    for (const std::uint64_t count : elements) {
      parts.emplace_back(weights.subspan(at, 2 * count), 2);
      at += 2 * count;
    }
    return parts;
  }
};

// The file of a delta, made without the sender.
inline ByteVector delta_bytes(const RegionSizes& sizes, const DeltaHeader& header,
                              std::span<const std::byte> before, std::span<const std::byte> after,
                              DeltaMode mode = DeltaMode::empty) {
  std::stringstream out;
  const DeltaIndex geometry = cut_into_segments(header, sizes.regions());
  DeltaWriter writer(out, geometry);
  const auto old_parts = sizes.memory(before);
  const auto new_parts = sizes.memory(after);
  for (std::size_t i = 0; i < geometry.segments.size(); ++i) {
    const DeltaSegment& segment = geometry.segments[i];
    ByteVector a, b;
    writer.add(encode_change(
        geometry, i, old_parts[segment.region].read(segment.first_element, segment.elements, a),
        new_parts[segment.region].read(segment.first_element, segment.elements, b), mode));
  }
  writer.finish();
  const std::string text = out.str();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// What the naive reader does: every segment applied, whatever is there.
inline ByteVector applied_in_turn(const RegionSizes& sizes, const DeltaFile& file,
                                  ByteVector weights) {
  const auto parts = sizes.memory(std::span(weights));
  for (std::size_t i = 0; i < file.index().segments.size(); ++i) {
    const DeltaSegment& segment = file.index().segments[i];
    ByteVector scratch;
    const auto held = parts[segment.region].read(segment.first_element, segment.elements, scratch);
    ByteVector elements(held.begin(), held.end());
    apply_segment(file.segment(i), 2, elements);
    parts[segment.region].write(segment.first_element, elements);
  }
  return weights;
}

}  // namespace refit
