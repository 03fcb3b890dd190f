#pragma once

#include <string>
#include <vector>

#include "checks/finding.h"
#include "scenarios/scenario.h"

namespace refit {

// The runtimes whose rules are known: "nccl_m2n", "nemo_rl_reshard", …
std::vector<std::string> runtime_names();

// What a runtime would refuse of a scenario; empty if it takes it. Error(bad_input) if its rules
// ask for engines and the scenario writes its tensors out.
Findings findings_of_runtime(const std::string& name, const Scenario& scenario);

}  // namespace refit
