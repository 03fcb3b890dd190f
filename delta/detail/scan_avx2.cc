#include "delta/detail/scan_scalar.h"

#if defined(__x86_64__)

#include <immintrin.h>

// On each function rather than for the file: what a header defines inline would else be compiled
// for this processor and could be linked into code for all.
#define REFIT_AVX2 __attribute__((target("avx2,bmi")))

namespace refit::detail {
namespace {

REFIT_AVX2 inline __m256i load_vector(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// A bit for each of so many elements from `i` on that differ.
template <class Element>
inline constexpr std::size_t kMaskElements = sizeof(Element) == 4 ? 8 : 32;

template <class Element>
REFIT_AVX2 inline std::uint32_t changed_mask(const std::byte* a, const std::byte* b) {
  if constexpr (sizeof(Element) == 1) {
    return ~static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(load_vector(a), load_vector(b))));
  } else if constexpr (sizeof(Element) == 2) {
    const __m256i low = _mm256_cmpeq_epi16(load_vector(a), load_vector(b));
    const __m256i high = _mm256_cmpeq_epi16(load_vector(a + 32), load_vector(b + 32));
    // Packing works in halves of 128 bits; the permutation puts the quarters in order.
    const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
    return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(both));
  } else {
    const __m256i equal = _mm256_cmpeq_epi32(load_vector(a), load_vector(b));
    return ~static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal))) & 0xffu;
  }
}

template <class Element>
REFIT_AVX2 std::size_t scan_block(const std::byte* old_elements, const std::byte* new_elements,
                                  std::size_t count, std::uint16_t* positions,
                                  Element* differences) {
  std::size_t found = 0, i = 0;
  for (; i + kMaskElements<Element> <= count; i += kMaskElements<Element>) {
    const std::byte* a = old_elements + i * sizeof(Element);
    const std::byte* b = new_elements + i * sizeof(Element);
    ask_ahead(a);
    ask_ahead(b);
    std::uint32_t mask = changed_mask<Element>(a, b);
    for (; mask != 0; mask &= mask - 1) {
      const std::size_t at = i + static_cast<std::size_t>(__builtin_ctz(mask));
      positions[found] = static_cast<std::uint16_t>(at);
      differences[found++] =
          static_cast<Element>(load<Element>(new_elements, at) - load<Element>(old_elements, at));
    }
  }
  return scan_from<Element>(i, found, old_elements, new_elements, count, positions, differences);
}

// A bit for each of 32 two-byte elements whose low 15 bits are below the limit.
REFIT_AVX2 inline std::uint32_t small_mask(const std::byte* a, __m256i limit, __m256i magnitude) {
  const __m256i low = _mm256_cmpgt_epi16(limit, _mm256_and_si256(load_vector(a), magnitude));
  const __m256i high = _mm256_cmpgt_epi16(limit, _mm256_and_si256(load_vector(a + 32), magnitude));
  return static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8)));
}

template <bool encoding>
REFIT_AVX2 TierCounts tiers(const TierBlock& block) {
  const __m256i limit = _mm256_set1_epi16(static_cast<short>(block.limit));
  const __m256i magnitude = _mm256_set1_epi16(0x7fff);
  TierCounts found;
  std::size_t i = 0;
  for (; i + 32 <= block.count; i += 32) {
    const std::byte* a = block.old_elements + 2 * i;
    const std::byte* b = encoding ? block.new_elements + 2 * i : nullptr;
    ask_ahead(a);
    if constexpr (encoding) ask_ahead(b);
    const std::uint32_t small = small_mask(a, limit, magnitude);
    for (std::uint32_t mask = small; mask != 0; mask &= mask - 1) {
      const auto bit = static_cast<std::uint32_t>(__builtin_ctz(mask));
      const auto before = load<std::uint16_t>(a, bit);
      block.members[found.members++] =
          member(before, encoding ? static_cast<std::uint16_t>(load<std::uint16_t>(b, bit) - before)
                                  : block.first + static_cast<std::uint32_t>(i) + bit);
    }
    if constexpr (encoding) {
      for (std::uint32_t mask = changed_mask<std::uint16_t>(a, b) & ~small; mask != 0;
           mask &= mask - 1) {
        const auto bit = static_cast<std::size_t>(__builtin_ctz(mask));
        block.positions[found.changes] = static_cast<std::uint16_t>(i + bit);
        block.differences[found.changes++] =
            static_cast<std::uint16_t>(load<std::uint16_t>(b, bit) - load<std::uint16_t>(a, bit));
      }
    }
  }
  return tiers_from<encoding>(i, found, block);
}

}  // namespace

const ScanKernels* avx2_kernels() {
  static const ScanKernels kernels{scan_block<std::uint8_t>,
                                   scan_block<std::uint16_t>,
                                   scan_block<std::uint32_t>,
                                   tiers<true>,
                                   tiers<false>,
                                   scalar_kernels().take};
  const bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
  return runs ? &kernels : nullptr;
}

}  // namespace refit::detail

#else

const refit::detail::ScanKernels* refit::detail::avx2_kernels() { return nullptr; }

#endif
