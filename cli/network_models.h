#pragma once

#include <string>

#include "sim/network_model.h"

namespace refit {

// One that is compiled in, or a file. Error(bad_input) lists the names.
NetworkModel network_model_named(const std::string& name);

}  // namespace refit
