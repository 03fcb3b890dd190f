#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "delta/delta_file.h"
#include "delta/detail/little_endian.h"
#include "delta/diff.h"
#include "tests/fuzz/targets.h"

namespace refit::fuzz {
namespace {

using Bytes = std::span<const std::byte>;

// Chance never finds a hash. So the fuzzer's bytes are also tried with the hashes over the index
// put right, which leads to the checks behind them.
std::vector<std::byte> with_right_hashes(Bytes bytes) {
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (file.size() < 128) return file;
  const auto regions = detail::load_little<std::uint32_t>(&file[64]);
  const auto segments = detail::load_little<std::uint32_t>(&file[68]);
  const std::uint64_t index = delta_index_bytes(regions, segments);
  if (index > file.size()) return file;
  const Bytes view(file);
  detail::store_little(&file[112], hash64(view.subspan(128, index - 128)));
  detail::store_little(&file[120], hash64(view.first(120)));
  if (file.size() >= index + 32) {
    const Hash128 hash = Hasher128().add(view.first(index)).digest();
    std::memcpy(&file[file.size() - 24], hash.bytes.data(), 16);
  }
  return file;
}

void read_and_apply(Bytes bytes) {
  const DeltaFile file(bytes, "fuzz");
  const DeltaIndex& index = file.index();
  for (std::size_t i = 0; i < index.segments.size(); ++i) {
    const DeltaSegment& segment = index.segments[i];
    // Elements are the reader's memory, not the file's: only as much as a test can afford.
    const auto width = static_cast<std::size_t>(index.regions[segment.region].element_bytes);
    if (segment.elements > 4096) continue;
    std::vector<std::byte> elements(segment.elements * width);
    const EncodedSegment encoded = file.segment(i);
    reach_target(index, i, encoded, elements);
  }
}

}  // namespace

void delta_file(const std::uint8_t* bytes, std::size_t size) {
  const Bytes given = std::as_bytes(std::span(bytes, size));
  for (const bool right_hashes : {false, true}) {
    try {
      read_and_apply(right_hashes ? with_right_hashes(given)
                                  : std::vector(given.begin(), given.end()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_input) throw;
    }
  }
}

}  // namespace refit::fuzz
