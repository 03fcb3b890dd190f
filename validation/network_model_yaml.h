#pragma once

#include <string>
#include <vector>

#include "sim/network_model.h"

namespace refit {

// A file that read_network_model() takes. `how`: lines of comment, how it was fitted.
std::string network_model_yaml(const NetworkModel& model, const std::vector<std::string>& how);

}  // namespace refit
