#include "executor/delta/delta_measurement.h"

#include "executor/detail/frame.h"

namespace refit {

using detail::put;
using detail::take;

DeltaWork& DeltaWork::operator+=(const DeltaWork& other) {
  wire_bytes += other.wire_bytes;
  dense_wire_bytes += other.dense_wire_bytes;
  scanned_bytes += other.scanned_bytes;
  applied_bytes += other.applied_bytes;
  scan_cpu_s += other.scan_cpu_s;
  apply_cpu_s += other.apply_cpu_s;
  return *this;
}

std::string encode_versions(const DeltaMeasurement& measured) {
  std::string out;
  put(out, static_cast<std::uint64_t>(measured.versions.size()));
  for (const DeltaVersion& version : measured.versions) put(out, version);
  for (const std::uint64_t bytes : measured.payload_bytes) put(out, bytes);
  return out;
}

void decode_versions(std::string_view in, DeltaMeasurement& measured) {
  measured.versions.clear();
  measured.payload_bytes.clear();
  for (auto n = take<std::uint64_t>(in); n > 0; --n)
    measured.versions.push_back(take<DeltaVersion>(in));
  while (!in.empty()) measured.payload_bytes.push_back(take<std::uint64_t>(in));
}

}  // namespace refit
