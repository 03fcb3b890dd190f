#include "executor/copy_runs.h"

#include <cstring>

namespace refit {
namespace {

// Longer than a cache line or two, a run is worth a call.
constexpr std::size_t kLongestInline = 128;

using RowCopy = void (*)(const RunRow& from, const RunRow& to);

template <class CopyRun>
void for_each_run(const RunRow& from, const RunRow& to, const CopyRun& copy_run) {
  const std::byte* source = from.first;
  std::byte* target = to.first;
  for (std::int64_t i = 0; i < from.count; ++i) {
    copy_run(target, source);
    source += from.stride_bytes;
    target += to.stride_bytes;
  }
}

// A constant size becomes a few moves; the compiler calls memcpy where it sees no better way, and
// that is beyond 16 bytes already.
template <std::size_t kBytes>
void copy_fixed(std::byte* to, const std::byte* from) {
  constexpr std::size_t kStep = kBytes < 16 ? kBytes : 16;
  for (std::size_t at = 0; at < kBytes; at += kStep) std::memcpy(to + at, from + at, kStep);
}

template <std::size_t kBytes>
void copy_equal(const RunRow& from, const RunRow& to) {
  for_each_run(from, to, copy_fixed<kBytes>);
}

// Runs between kBytes and twice that: the first kBytes and the last, which may overlap.
template <std::size_t kBytes>
void copy_both_ends(const RunRow& from, const RunRow& to) {
  const auto last = static_cast<std::size_t>(from.run_bytes) - kBytes;
  for_each_run(from, to, [last](std::byte* target, const std::byte* source) {
    copy_fixed<kBytes>(target, source);
    copy_fixed<kBytes>(target + last, source + last);
  });
}

void copy_long(const RunRow& from, const RunRow& to) {
  const auto bytes = static_cast<std::size_t>(from.run_bytes);
  for_each_run(from, to, [bytes](std::byte* target, const std::byte* source) {
    std::memcpy(target, source, bytes);
  });
}

template <std::size_t kBytes>
RowCopy fitting(std::size_t run_bytes) {
  if (run_bytes == kBytes) return copy_equal<kBytes>;
  if (run_bytes < 2 * kBytes) return copy_both_ends<kBytes>;
  if constexpr (2 * kBytes <= kLongestInline) return fitting<2 * kBytes>(run_bytes);
  return copy_long;
}

}  // namespace

void copy_runs(const RunRow& from, const RunRow& to) {
  const auto bytes = static_cast<std::size_t>(from.run_bytes);
  if (from.count == 1 || bytes > kLongestInline) return copy_long(from, to);
  fitting<1>(bytes)(from, to);
}

}  // namespace refit
