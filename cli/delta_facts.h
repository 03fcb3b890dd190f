#pragma once

#include <string>
#include <utility>
#include <vector>

#include "executor/delta/delta_measurement.h"
#include "models/coding.h"

namespace refit {

// What a run of versions tells beside its times, as names and words (Measurement::environment).
std::vector<std::pair<std::string, std::string>> delta_facts(
    const std::vector<DeltaVersion>& versions, const Coding& coding);

}  // namespace refit
