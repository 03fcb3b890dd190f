#include "delta/detail/gaps.h"

#include <bit>

#include <fmt/format.h>

namespace refit::detail {
namespace {

constexpr int kParameterBits = 5;
constexpr int kMostRiceBits = 20;  // a gap is below 2^20, so more never helps

// What the gaps need with `k` low bits each. All gaps together are fewer than 2^32 elements, and
// without a carried position the loop is one for vectors.
std::uint64_t code_bits(std::span<const std::uint32_t> positions, int k) {
  std::uint32_t quotients = positions.front() >> k;
  for (std::size_t i = 1; i < positions.size(); ++i)
    quotients += (positions[i] - positions[i - 1] - 1) >> k;
  return quotients + positions.size() * static_cast<std::uint64_t>(k + 1);
}

struct BestCode {
  int rice_bits = 0;
  std::uint64_t bits = 0;
};

// Down the slope from what a geometric distribution of the same mean would take.
BestCode best_code(std::span<const std::uint32_t> positions) {
  const std::uint64_t mean = positions.back() / positions.size();
  BestCode best;
  best.rice_bits = std::min(kMostRiceBits, static_cast<int>(std::bit_width(mean * 7 / 10)));
  best.bits = code_bits(positions, best.rice_bits);
  for (const int step : {-1, 1}) {
    for (int k = best.rice_bits + step; k >= 0 && k <= kMostRiceBits; k += step) {
      const std::uint64_t bits = code_bits(positions, k);
      if (bits >= best.bits) break;
      best = {k, bits};
    }
  }
  return best;
}

}  // namespace

std::uint64_t gaps_bits(std::span<const std::uint32_t> positions) {
  return positions.empty() ? 0 : kParameterBits + best_code(positions).bits;
}

void put_gaps(BitWriter& out, std::span<const std::uint32_t> positions) {
  if (positions.empty()) return;
  const BestCode code = best_code(positions);
  const int k = code.rice_bits;
  BitCursor cursor = out.open(kParameterBits + code.bits);
  cursor.put(static_cast<std::uint64_t>(k), kParameterBits);
  std::uint32_t next = 0;
  for (const std::uint32_t position : positions) {
    const std::uint32_t gap = position - next;
    next = position + 1;
    int zeros = static_cast<int>(gap >> k);
    for (; zeros > 32; zeros -= 32) [[unlikely]] cursor.put(0, 32);
    const std::uint64_t one = std::uint64_t{1} << zeros;
    if (zeros + 1 + k <= 56) [[likely]] {
      cursor.put((low_bits(gap, k) << (zeros + 1)) | one, zeros + 1 + k);
    } else {
      cursor.put(one, zeros + 1);
      cursor.put(low_bits(gap, k), k);
    }
  }
  out.close(cursor);
}

void get_gaps(BitReader& in, std::span<std::uint32_t> positions, std::uint64_t end) {
  if (positions.empty()) return;
  const int k = static_cast<int>(in.get(kParameterBits));
  if (k > kMostRiceBits)
    bad_payload(fmt::format("Rice parameter {}; at most {} is possible", k, kMostRiceBits));
  std::uint64_t next = 0;
  for (std::uint32_t& position : positions) {
    const std::uint64_t word = in.peek();
    if ((word & 0xffffffffu) != 0) [[likely]] {
      const int zeros = std::countr_zero(word);
      next += (static_cast<std::uint64_t>(zeros) << k) | low_bits(word >> (zeros + 1), k);
      in.skip(zeros + 1 + k);
    } else {
      const std::uint64_t zeros = in.zeros();
      next += (zeros << k) | in.get(k);
    }
    position = static_cast<std::uint32_t>(next++);
  }
  // They rise, so the last one speaks for all.
  if (next > end) bad_payload(fmt::format("a change at element {} of {}", next - 1, end));
}

}  // namespace refit::detail
