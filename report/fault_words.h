#pragma once

#include <string>

#include "schedule/fault.h"

namespace refit {

// "rank 3 is killed at 50 % of the refit, policy shrink".
std::string fault_words(const FaultSpec& fault);

}  // namespace refit
