#pragma once

#include <string>
#include <vector>

#include "validation/result.h"

namespace refit {

// Parts of the page about accuracy that hold predictions against what publications say besides
// single times. Markdown; each begins with its heading.
std::string method_order_section(const Validation& validation);
std::string scale_section(const std::vector<ScalePoint>& points);
std::string streams_section(const std::vector<StreamsPoint>& points);
std::string gb200_section(const Validation& validation);

}  // namespace refit
