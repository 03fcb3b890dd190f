#include "delta/detail/anchor.h"

#include <zstd.h>

#include <fmt/format.h>

#include "base/check.h"
#include "delta/detail/bit_stream.h"

namespace refit::detail {
namespace {

constexpr int kLevel =
    1;  // planes hold literals, not matches: higher levels cost time and save nothing

}  // namespace

std::vector<std::byte> compress_planes(std::span<const std::byte> elements, int element_bytes) {
  const auto width = static_cast<std::size_t>(element_bytes);
  const std::size_t count = elements.size() / width;
  std::vector<std::byte> planes(elements.size());
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t i = 0; i < count; ++i) planes[b * count + i] = elements[i * width + b];
  }
  std::vector<std::byte> payload(ZSTD_compressBound(planes.size()));
  const std::size_t size =
      ZSTD_compress(payload.data(), payload.size(), planes.data(), planes.size(), kLevel);
  REFIT_CHECK(!ZSTD_isError(size));
  payload.resize(size);
  payload.shrink_to_fit();
  return payload;
}

void decompress_planes(std::span<const std::byte> payload, int element_bytes,
                       std::span<std::byte> elements) {
  const auto width = static_cast<std::size_t>(element_bytes);
  const std::size_t count = elements.size() / width;
  std::vector<std::byte> planes(elements.size());
  const std::size_t size =
      ZSTD_decompress(planes.data(), planes.size(), payload.data(), payload.size());
  if (ZSTD_isError(size)) bad_payload(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  if (size != planes.size())
    bad_payload(fmt::format("holds {} bytes of elements; {} are needed", size, planes.size()));
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t i = 0; i < count; ++i) elements[i * width + b] = planes[b * count + i];
  }
}

}  // namespace refit::detail
