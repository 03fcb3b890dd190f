#pragma once

#include <cstdint>
#include <string>

#include "delta/container.h"

namespace refit {

// What a delta is and what it costs, for people: versions, elements, changes, bytes per change,
// modes.
std::string delta_text(const DeltaIndex& index, std::uint64_t file_bytes);

// The same as JSON, refit.delta/1, with every region.
std::string delta_json(const DeltaIndex& index, std::uint64_t file_bytes);

std::string_view to_string(DeltaMode mode);

}  // namespace refit
