#pragma once

#include <functional>
#include <string>

namespace refit::detail {

// Runs `work` in a process of its own, with its own user (unless root), network and process
// namespaces, and returns its text. When that process ends, or this one, for whatever reason, the
// kernel kills everything that was started inside.
std::string run_apart(const std::function<std::string()>& work);

}  // namespace refit::detail
