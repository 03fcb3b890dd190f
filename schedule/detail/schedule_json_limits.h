#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace refit::detail {

// What a file may ask for. Rank ranges are the one place where a short text stands for a long list,
// so their sum is limited; everything else is as long as the file that spells it out.
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;
constexpr std::size_t kMaxListedRanks = std::size_t{1} << 26;
constexpr std::int64_t kMaxChunks = 65536;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 53;       // of one item: exact in a double
constexpr std::int64_t kMaxByteSum = std::int64_t{1} << 61;     // of all ops: no sum overflows
constexpr std::uint64_t kMaxAfterSum = std::uint64_t{1} << 28;  // of all `after` lists' lengths
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxDims = 17;  // 16 of a tensor, and the member
constexpr int kMaxDepth = 8;

}  // namespace refit::detail
