#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "schedule/schedule.h"

namespace refit {

// The file a verb was given: a scenario, or a saved plan with its scenario inside.
struct Question {
  Scenario scenario;
  std::optional<Schedule> plan;
};

Question load_question(const std::string& path);

// The policies named in a comma-separated list; "policy" is the scenario's own. Without a list: all
// built-in strategies, then the scenario's own if it has one.
std::vector<Policy> chosen_policies(const Scenario& scenario,
                                    const std::optional<std::string>& list);

// One name, or without a name the scenario's own policy, else reshard.
Policy chosen_policy(const Scenario& scenario, const std::optional<std::string>& name);

// "op 12 (transfer 1 -> 5): ..."
std::string to_line(const Diagnostic& finding);

// Error(check_failed) with the findings if the schedule is no answer to the scenario.
void require_verified(const Schedule& schedule, const Scenario& scenario);

// The policy's plan, verified.
Schedule verified_plan(const Scenario& scenario, const Policy& policy);

}  // namespace refit
