#pragma once

#include <string>

#include "cli/delta_regions.h"

namespace refit {

struct ApplyCount {
  std::uint64_t applied = 0;  // segments
  std::uint64_t there_already = 0;
  std::uint64_t mended = 0;  // torn by an interruption and written anew
};

// The checkpoint after the delta, as a new file or (of several files) a new folder, which is there
// whole or not at all. Error(bad_input) if the base is not the one the delta was made for.
ApplyCount apply_to_copy(const DeltaFile& delta, const std::string& base, const std::string& output,
                         int threads);

// The checkpoint itself becomes the new one. Interrupted anywhere, the same call finishes it:
// before the first weight is written, all new elements are on the disk beside the checkpoint, in
// recovery_path(). Error(bad_input), nothing changed, if the base is another.
ApplyCount apply_in_place(const DeltaFile& delta, const std::string& base, int threads);

std::string recovery_path(const SafetensorsCheckpoint& checkpoint);

}  // namespace refit
