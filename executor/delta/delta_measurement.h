#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "executor/measurement.h"

namespace refit {

// What ranks did for a version; adds up over ranks and versions.
struct DeltaWork {
  std::uint64_t wire_bytes = 0;        // of all moves, or written to a store and read from it
  std::uint64_t dense_wire_bytes = 0;  // of the same, had the content travelled as it is
  std::uint64_t scanned_bytes = 0;     // compared and coded
  std::uint64_t applied_bytes = 0;     // checked and changed
  double scan_cpu_s = 0, apply_cpu_s = 0;

  DeltaWork& operator+=(const DeltaWork& other);
};

// What became of one version, over all ranks.
struct DeltaVersion {
  std::uint64_t version = 0;
  std::uint32_t is_anchor = 0;        // the first: it travelled whole, or both sides had it
  std::uint32_t prints_compared = 0;  // tensors whose fingerprints were compared
  std::uint32_t prints_unequal = 0;
  std::uint32_t chunks = 0;
  std::uint64_t asked_again = 0;  // payloads and segments that were damaged, over all receivers
  std::uint64_t elements = 0;     // of the model, once
  std::uint64_t changed = 0;
  std::uint64_t dense_bytes = 0;    // of the model, once
  std::uint64_t payload_bytes = 0;  // of all chunks, once
  std::uint64_t code_bytes = 0;     // of these, without the payloads' heads
  DeltaWork work;
};

// A run of versions: times and wrong bytes as of any run, of the moves alone; and what the changes
// were. The first of `versions`
// is no iteration.
struct DeltaMeasurement {
  Measurement measurement;
  std::vector<DeltaVersion> versions;
  // Of the last version, by chunk (DeltaGeometry): with these the same plan can be predicted.
  std::vector<std::uint64_t> payload_bytes;
};

// `versions` and `payload_bytes`, for another process of the same program.
std::string encode_versions(const DeltaMeasurement& measured);
void decode_versions(std::string_view in, DeltaMeasurement& measured);

}  // namespace refit
