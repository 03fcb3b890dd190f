#pragma once

#include <string>

#include "validation/result.h"

namespace refit {

// docs/accuracy.md.
std::string accuracy_page(const Accuracy& accuracy);

}  // namespace refit
