#include "delta/detail/zstd_bytes.h"

#include <zstd.h>

#include <fmt/format.h>

#include "base/check.h"
#include "delta/detail/bit_stream.h"

namespace refit::detail {
namespace {

// What is left to compress holds literals, not matches: higher levels cost time and save nothing.
constexpr int kLevel = 1;

}  // namespace

std::vector<std::byte> zstd_compress(std::span<const std::byte> bytes) {
  std::vector<std::byte> payload(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(payload.data(), payload.size(), bytes.data(), bytes.size(), kLevel);
  REFIT_CHECK(!ZSTD_isError(size));
  payload.resize(size);
  payload.shrink_to_fit();
  return payload;
}

std::vector<std::byte> zstd_decompress(std::span<const std::byte> payload, std::size_t most_bytes) {
  // Both "unknown" and "error" are above any size.
  const unsigned long long size = ZSTD_getFrameContentSize(payload.data(), payload.size());
  if (size > most_bytes)
    bad_payload(fmt::format("no zstd frame that says it holds at most {} bytes", most_bytes));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  const std::size_t got =
      ZSTD_decompress(bytes.data(), bytes.size(), payload.data(), payload.size());
  if (ZSTD_isError(got)) bad_payload(fmt::format("zstd: {}", ZSTD_getErrorName(got)));
  if (got != bytes.size())
    bad_payload(fmt::format("holds {} bytes and says {}", got, bytes.size()));
  return bytes;
}

std::size_t zstd_frame_bytes(std::span<const std::byte> payload) {
  const std::size_t size = ZSTD_findFrameCompressedSize(payload.data(), payload.size());
  if (ZSTD_isError(size)) bad_payload(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  return size;
}

}  // namespace refit::detail
