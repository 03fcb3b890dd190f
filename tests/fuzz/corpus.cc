#include "tests/fuzz/corpus.h"

#include <cstring>
#include <random>
#include <span>

#include "tests/delta/weights_case.h"

namespace refit::fuzz {
namespace {

std::vector<std::uint8_t> octets(std::span<const std::byte> bytes) {
  std::vector<std::uint8_t> octets(bytes.size());
  if (!bytes.empty()) std::memcpy(octets.data(), bytes.data(), bytes.size());
  return octets;
}

constexpr DeltaMode kModes[] = {DeltaMode::empty,     DeltaMode::rice,  DeltaMode::conditioned,
                                DeltaMode::overwrite, DeltaMode::dense, DeltaMode::anchor};

}  // namespace

std::vector<Seed> delta_file_seeds() {
  std::mt19937_64 random(1);
  const RegionSizes sizes{{150, 40}, 64};
  const ByteVector before = random_weights(sizes.total(), random);
  const ByteVector after = updated(before, 5, random);
  std::vector<Seed> seeds;
  for (const DeltaMode mode : kModes) {
    DeltaHeader header = sizes.header(4, 5);
    header.anchor = mode == DeltaMode::anchor;
    if (header.anchor) header.base_version = 0;
    seeds.push_back({"mode" + std::to_string(static_cast<int>(mode)),
                     octets(delta_bytes(sizes, header, before, after, mode))});
  }
  return seeds;
}

std::vector<Seed> delta_segment_seeds() {
  std::mt19937_64 random(2);
  const ByteVector before = random_weights(300, random);
  const ByteVector after = updated(before, 8, random);
  std::vector<Seed> seeds;
  for (const DeltaMode mode : kModes) {
    for (std::uint8_t width = 0; width < 3; ++width) {  // 1, 2, 4 bytes
      const std::string name =
          std::to_string(static_cast<int>(mode)) + "x" + std::to_string(1 << width);
      const auto number = static_cast<std::uint8_t>(mode);
      Seed pair{"pair" + name, {static_cast<std::uint8_t>(0x80 + 8 * width), number, 0}};
      for (const ByteVector& part : {before, after}) {
        const auto bytes = octets(part);
        pair.bytes.insert(pair.bytes.end(), bytes.begin(), bytes.end());
      }
      seeds.push_back(std::move(pair));
      if (mode == DeltaMode::conditioned && width != 1) continue;
      const EncodedSegment segment = encode_segment(before, after, 1 << width, mode);
      Seed payload{"payload" + name,
                   {static_cast<std::uint8_t>(8 * width), number, segment.threshold,
                    static_cast<std::uint8_t>(segment.changed % 256),
                    static_cast<std::uint8_t>(segment.changed / 256)}};
      const auto bytes = octets(segment.payload);
      payload.bytes.insert(payload.bytes.end(), bytes.begin(), bytes.end());
      seeds.push_back(std::move(payload));
    }
  }
  return seeds;
}

std::vector<Seed> safetensors_seeds() {
  const std::string texts[] = {
      R"({"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("__metadata__":{"format":"pt"},"v":{"dtype":"F4","shape":[6],"data_offsets":[12,15]}})",
      R"({"metadata":{"total_size":4},"weight_map":{"w":"model-00001-of-00002.safetensors"}})",
      "{}"};
  std::vector<Seed> seeds;
  for (const std::string& text : texts) {
    Seed seed{"header" + std::to_string(seeds.size()), {}};
    for (std::size_t i = 0; i < 8; ++i) {
      seed.bytes.push_back(static_cast<std::uint8_t>(text.size() >> (8 * i)));
    }
    seed.bytes.insert(seed.bytes.end(), text.begin(), text.end());
    seed.bytes.insert(seed.bytes.end(), seeds.empty() ? 15 : 0, 0);
    seeds.push_back(seed);
    seeds.push_back({"text" + std::to_string(seeds.size()), {text.begin(), text.end()}});
  }
  return seeds;
}

}  // namespace refit::fuzz
