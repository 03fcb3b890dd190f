#pragma once

#include <nlohmann/json.hpp>

#include "sim/memory_use.h"

namespace refit {

// `memory.by_class` of refit.prediction/1, exact to the last bit.
nlohmann::ordered_json memory_json(const MemoryByClass& memory);
MemoryByClass parse_memory(const nlohmann::ordered_json& json);

}  // namespace refit
