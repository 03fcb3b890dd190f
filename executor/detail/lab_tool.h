#pragma once

#include <string>

#include "executor/detail/lab_namespace.h"

namespace refit::detail {

// The descriptor under which a tool finds the core namespace: "netns /proc/self/fd/9".
constexpr int kCoreFd = 9;

// Runs `tool` ("ip" or "tc") with a batch of command lines inside a namespace, with `core` at
// kCoreFd. Error(environment) quotes the tool's own words and the line it stopped at.
void run_batch(const std::string& tool, const std::string& lines, const NetNamespace& where,
               const NetNamespace& core);

}  // namespace refit::detail
