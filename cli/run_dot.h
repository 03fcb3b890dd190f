#pragma once

#include <string>

namespace refit {

// The SVG that Graphviz's `dot` program makes of a graph. Error(environment) if it is not there or
// fails; `path` is what the message names.
std::string svg_of(const std::string& graph, const std::string& path);

}  // namespace refit
