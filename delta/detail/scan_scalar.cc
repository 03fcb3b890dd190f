#include "delta/detail/scan_scalar.h"

namespace refit::detail {
namespace {

// Words of a stretch are compared first, without a branch on what comes out: which ones differ is
// chance, and a wrong guess about one of them costs as much as comparing many.
constexpr std::size_t kWordsInLine = kLineBytes / sizeof(std::uint64_t);
constexpr std::size_t kStretchWords = 16 * kWordsInLine;

template <class Element>
std::size_t scan_block(const std::byte* old_elements, const std::byte* new_elements,
                       std::size_t count, std::uint16_t* positions, Element* differences) {
  constexpr std::size_t kInWord = sizeof(std::uint64_t) / sizeof(Element);
  constexpr std::size_t kInStretch = kStretchWords * kInWord;
  std::uint16_t differing[kStretchWords + 1];
  std::size_t found = 0, i = 0;
  for (; i + kInStretch <= count; i += kInStretch) {
    const std::byte* before = old_elements + i * sizeof(Element);
    const std::byte* after = new_elements + i * sizeof(Element);
    std::size_t words = 0;
    for (std::size_t first = 0; first < kStretchWords; first += kWordsInLine) {
      ask_ahead(before + first * sizeof(std::uint64_t));
      ask_ahead(after + first * sizeof(std::uint64_t));
      for (std::size_t w = first; w < first + kWordsInLine; ++w) {
        differing[words] = static_cast<std::uint16_t>(w);
        words += load<std::uint64_t>(before, w) != load<std::uint64_t>(after, w) ? 1 : 0;
      }
    }
    for (std::size_t w = 0; w < words; ++w) {
      const std::size_t at = i + differing[w] * kInWord;
      found = scan_from<Element>(at, found, old_elements, new_elements, at + kInWord, positions,
                                 differences);
    }
  }
  return scan_from<Element>(i, found, old_elements, new_elements, count, positions, differences);
}

template <bool encoding>
TierCounts tiers(const TierBlock& block) {
  return tiers_from<encoding>(0, {}, block);
}

std::size_t take(Member* members, std::size_t count, Member limit, Member* taken) {
  return take_from(0, {}, members, count, limit, taken).taken;
}

}  // namespace

const ScanKernels& scalar_kernels() {
  static constexpr ScanKernels kernels{scan_block<std::uint8_t>,
                                       scan_block<std::uint16_t>,
                                       scan_block<std::uint32_t>,
                                       tiers<true>,
                                       tiers<false>,
                                       take};
  return kernels;
}

}  // namespace refit::detail
