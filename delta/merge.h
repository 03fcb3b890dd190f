#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include "delta/delta_file.h"

namespace refit {

// The elements of a segment before the first delta, by position in the index.
using BaseElements = std::function<std::vector<std::byte>(std::size_t)>;

struct MergeOptions {
  // Where there is a base, segments are encoded anew in `mode` (as for encode_segment). Without
  // one, segments of mode `conditioned` can't be merged, since they mean nothing without their
  // base, nor can differences be merged with overwritten elements.
  BaseElements base;
  DeltaMode mode = DeltaMode::empty;
  int threads = 1;
  std::function<void(std::size_t)> progress;  // told how many segments are merged
};

// Writes the one delta that does what the deltas do in turn, bit by bit, and returns its index.
// Error(bad_input) unless each begins where the one before it ends, with equal regions; an anchor
// can only be the first, and makes the result an anchor.
DeltaIndex merge_deltas(std::span<const DeltaFile* const> deltas, const MergeOptions& options,
                        std::ostream& out);

}  // namespace refit
