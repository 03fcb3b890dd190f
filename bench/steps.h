#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/measured_child.h"
#include "scenarios/scenario.h"

namespace refit::bench {

// The table of published_bench and large_bench: seconds and memory of each step from a scenario to
// one strategy's prediction, a process per row.
void print_steps_header();
Measured print_steps_row(const std::string& name, const char* strategy,
                         const std::function<Scenario()>& load);

}  // namespace refit::bench
