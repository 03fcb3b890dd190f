#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace refit::detail {

std::vector<std::byte> zstd_compress(std::span<const std::byte> bytes);

// Error(bad_input) if it is no zstd frame of at most so many bytes.
std::vector<std::byte> zstd_decompress(std::span<const std::byte> payload, std::size_t most_bytes);

// Bytes of the frame that the payload begins with; Error(bad_input) if there is none.
std::size_t zstd_frame_bytes(std::span<const std::byte> payload);

}  // namespace refit::detail
