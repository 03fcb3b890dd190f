#include "delta/detail/scan_scalar.h"

#if defined(__x86_64__)

// g++ 12 takes the vectors that its own header leaves undefined on purpose for mistakes (GCC bug
// 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

// As in scan_avx2.cc: on each function, so that nothing inline from a header is compiled for it.
#define REFIT_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")))

namespace refit::detail {
namespace {

alignas(64) constexpr std::uint16_t kCount[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                  22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

REFIT_AVX512 inline __mmask32 first_lanes(std::size_t count) {
  return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}

REFIT_AVX512 inline std::size_t ones(std::uint32_t mask) {
  return static_cast<std::size_t>(_mm_popcnt_u32(mask));
}

// A mask of 16 lanes as a number. g++ 12 takes a register of masks for wide enough already and,
// where it has none left (at -O1 with a sanitizer, for one), keeps two bytes of it and reads back
// four. So the two go through a common register first, after which it widens them itself.
REFIT_AVX512 inline std::uint32_t wide(__mmask16 mask) {
  std::uint16_t bits = mask;
  __asm__("" : "+r"(bits));
  return bits;
}

// 32 elements from `i` on, or as many as the mask names. Compressing into a register and storing it
// whole is quicker than a compressing store (on Zen 4 by far), and without a branch on the mask the
// rate doesn't depend on how many changed.
REFIT_AVX512 inline std::size_t scan_32(const std::byte* a, const std::byte* b, __mmask32 lanes,
                                        __m512i index, std::uint16_t* positions,
                                        std::uint8_t* differences) {
  const __m256i before = _mm256_maskz_loadu_epi8(lanes, a),
                after = _mm256_maskz_loadu_epi8(lanes, b);
  const __mmask32 changed = _mm256_cmpneq_epi8_mask(before, after);
  _mm512_storeu_si512(positions, _mm512_maskz_compress_epi16(changed, index));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(differences),
                      _mm256_maskz_compress_epi8(changed, _mm256_sub_epi8(after, before)));
  return ones(changed);
}

REFIT_AVX512 inline std::size_t scan_32(const std::byte* a, const std::byte* b, __mmask32 lanes,
                                        __m512i index, std::uint16_t* positions,
                                        std::uint16_t* differences) {
  const __m512i before = _mm512_maskz_loadu_epi16(lanes, a),
                after = _mm512_maskz_loadu_epi16(lanes, b);
  const __mmask32 changed = _mm512_cmpneq_epi16_mask(before, after);
  _mm512_storeu_si512(positions, _mm512_maskz_compress_epi16(changed, index));
  _mm512_storeu_si512(differences,
                      _mm512_maskz_compress_epi16(changed, _mm512_sub_epi16(after, before)));
  return ones(changed);
}

REFIT_AVX512 inline std::size_t scan_32(const std::byte* a, const std::byte* b, __mmask32 lanes,
                                        __m512i index, std::uint16_t* positions,
                                        std::uint32_t* differences) {
  const auto low = static_cast<__mmask16>(lanes), high = static_cast<__mmask16>(lanes >> 16);
  const __m512i before_low = _mm512_maskz_loadu_epi32(low, a),
                before_high = _mm512_maskz_loadu_epi32(high, a + 64),
                after_low = _mm512_maskz_loadu_epi32(low, b),
                after_high = _mm512_maskz_loadu_epi32(high, b + 64);
  const __mmask16 changed_low = _mm512_cmpneq_epi32_mask(before_low, after_low),
                  changed_high = _mm512_cmpneq_epi32_mask(before_high, after_high);
  const std::uint32_t low_bits = wide(changed_low);
  const __mmask32 changed = low_bits | (wide(changed_high) << 16);
  _mm512_storeu_si512(positions, _mm512_maskz_compress_epi16(changed, index));
  _mm512_storeu_si512(differences, _mm512_maskz_compress_epi32(
                                       changed_low, _mm512_sub_epi32(after_low, before_low)));
  _mm512_storeu_si512(
      differences + ones(low_bits),
      _mm512_maskz_compress_epi32(changed_high, _mm512_sub_epi32(after_high, before_high)));
  return ones(changed);
}

template <class Element>
REFIT_AVX512 std::size_t scan_block(const std::byte* old_elements, const std::byte* new_elements,
                                    std::size_t count, std::uint16_t* positions,
                                    Element* differences) {
  const __m512i step = _mm512_set1_epi16(32);
  __m512i index = _mm512_load_si512(kCount);
  std::size_t found = 0, i = 0;
  for (; i + 32 <= count; i += 32) {
    const std::byte* a = old_elements + i * sizeof(Element);
    const std::byte* b = new_elements + i * sizeof(Element);
    for (std::size_t line = 0; line < 32 * sizeof(Element); line += kLineBytes) {
      ask_ahead(a + line);
      ask_ahead(b + line);
    }
    found += scan_32(a, b, ~__mmask32{0}, index, positions + found, differences + found);
    index = _mm512_add_epi16(index, step);
  }
  if (i < count)
    found += scan_32(old_elements + i * sizeof(Element), new_elements + i * sizeof(Element),
                     first_lanes(count - i), index, positions + found, differences + found);
  return found;
}

// Members as they leave the loop over elements: old element, and what it carries along.
struct ShortMembers {
  static constexpr std::size_t kElements =
      2048;  // of the block at a time: stays in the first cache
  alignas(64) std::uint16_t before[kElements + 32];
  alignas(64) std::uint16_t carried[kElements + 32];
};

// `first` is added to what is carried.
REFIT_AVX512 void widen(const ShortMembers& from, std::size_t count, std::uint32_t first,
                        Member* to) {
  const __m512i base = _mm512_set1_epi32(static_cast<int>(first));
  const __m512i exponent = _mm512_set1_epi32(0x7f80);
  for (std::size_t i = 0; i < count; i += 16) {
    const __m512i before =
        _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(from.before + i)));
    const __m512i carried = _mm512_cvtepu16_epi32(
        _mm256_load_si256(reinterpret_cast<const __m256i*>(from.carried + i)));
    const __m512i above =
        _mm512_slli_epi32(_mm512_and_si512(before, exponent), kMemberExponentShift - 7);
    _mm512_storeu_si512(to + i, _mm512_or_si512(_mm512_add_epi32(carried, base), above));
  }
}

template <bool encoding>
REFIT_AVX512 TierCounts tiers(const TierBlock& block) {
  const __m512i limit = _mm512_set1_epi16(static_cast<short>(block.limit));
  const __m512i magnitude = _mm512_set1_epi16(0x7fff), step = _mm512_set1_epi16(32);
  __m512i index = _mm512_load_si512(kCount);
  ShortMembers members;
  TierCounts found;
  for (std::size_t begin = 0; begin < block.count; begin += ShortMembers::kElements) {
    const std::size_t end = begin + ShortMembers::kElements < block.count
                                ? begin + ShortMembers::kElements
                                : block.count;
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; i += 32) {
      const __mmask32 lanes = first_lanes(end - i);
      ask_ahead(block.old_elements + 2 * i);
      if constexpr (encoding) ask_ahead(block.new_elements + 2 * i);
      const __m512i before = _mm512_maskz_loadu_epi16(lanes, block.old_elements + 2 * i);
      const __mmask32 small =
          _mm512_mask_cmplt_epu16_mask(lanes, _mm512_and_si512(before, magnitude), limit);
      __m512i carried = index;
      if constexpr (encoding) {
        const __m512i after = _mm512_maskz_loadu_epi16(lanes, block.new_elements + 2 * i);
        carried = _mm512_sub_epi16(after, before);
        const __mmask32 large = _mm512_cmpneq_epi16_mask(before, after) & ~small;
        if (large != 0) {  // seldom: few of the large change
          _mm512_storeu_si512(block.positions + found.changes,
                              _mm512_maskz_compress_epi16(large, index));
          _mm512_storeu_si512(block.differences + found.changes,
                              _mm512_maskz_compress_epi16(large, carried));
          found.changes += ones(large);
        }
      }
      _mm512_storeu_si512(members.before + count, _mm512_maskz_compress_epi16(small, before));
      _mm512_storeu_si512(members.carried + count, _mm512_maskz_compress_epi16(small, carried));
      count += ones(small);
      index = _mm512_add_epi16(index, step);
    }
    widen(members, count, encoding ? 0 : block.first, block.members + found.members);
    found.members += count;
  }
  return found;
}

REFIT_AVX512 std::size_t take(Member* members, std::size_t count, Member limit, Member* taken) {
  const __m512i from = _mm512_set1_epi32(static_cast<int>(limit));
  Taken found;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512i some = _mm512_loadu_si512(members + i);
    const __mmask16 is_taken = _mm512_cmpge_epu32_mask(some, from);
    _mm512_storeu_si512(taken + found.taken, _mm512_maskz_compress_epi32(is_taken, some));
    // Written behind what has been read, never beyond.
    _mm512_storeu_si512(members + found.left,
                        _mm512_maskz_compress_epi32(static_cast<__mmask16>(~is_taken), some));
    const std::size_t now = ones(wide(is_taken));
    found.taken += now;
    found.left += 16 - now;
  }
  return take_from(i, found, members, count, limit, taken).taken;
}

}  // namespace

const ScanKernels* avx512_kernels() {
  static const ScanKernels kernels{scan_block<std::uint8_t>,
                                   scan_block<std::uint16_t>,
                                   scan_block<std::uint32_t>,
                                   tiers<true>,
                                   tiers<false>,
                                   take};
  const bool runs = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt");
  return runs ? &kernels : nullptr;
}

}  // namespace refit::detail

#else

const refit::detail::ScanKernels* refit::detail::avx512_kernels() { return nullptr; }

#endif
