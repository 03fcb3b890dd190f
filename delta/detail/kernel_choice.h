#pragma once

#include <span>
#include <type_traits>

#include "delta/detail/scan_kernels.h"
#include "delta/scan.h"

namespace refit::detail {

// The kernels asked for, or the next best where this processor has none such.
const ScanKernels& kernels_of(ScanKernel kernel);

// What a kernel found in the block that begins at element `first`.
template <class Element>
void append_block(std::size_t first, std::span<const std::uint16_t> positions,
                  std::span<const Element> differences, Changes& changes) {
  const std::size_t before = changes.positions.size();
  changes.positions.resize(before + positions.size());
  changes.differences.resize(before + positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    changes.positions[before + i] = static_cast<std::uint32_t>(first) + positions[i];
    changes.differences[before + i] = static_cast<std::make_signed_t<Element>>(differences[i]);
  }
}

}  // namespace refit::detail
