#include "delta/detail/anchor.h"

#include <fmt/format.h>

#include "delta/detail/bit_stream.h"
#include "delta/detail/zstd_bytes.h"

namespace refit::detail {

std::vector<std::byte> compress_planes(std::span<const std::byte> elements, int element_bytes) {
  const auto width = static_cast<std::size_t>(element_bytes);
  const std::size_t count = elements.size() / width;
  std::vector<std::byte> planes(elements.size());
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t i = 0; i < count; ++i) planes[b * count + i] = elements[i * width + b];
  }
  return zstd_compress(planes);
}

void decompress_planes(std::span<const std::byte> payload, int element_bytes,
                       std::span<std::byte> elements) {
  const auto width = static_cast<std::size_t>(element_bytes);
  const std::size_t count = elements.size() / width;
  const std::vector<std::byte> planes = zstd_decompress(payload, elements.size());
  if (planes.size() != elements.size())
    bad_payload(
        fmt::format("holds {} bytes of elements; {} are needed", planes.size(), elements.size()));
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t i = 0; i < count; ++i) elements[i * width + b] = planes[b * count + i];
  }
}

}  // namespace refit::detail
