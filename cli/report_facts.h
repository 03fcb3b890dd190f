#pragma once

#include <string>
#include <vector>

#include "report/html.h"
#include "scenarios/scenario.h"

namespace refit {

// The question in one sentence.
std::string question_words(const Scenario& scenario);

// What 10 % of each constant that a prediction goes into is worth, to first order: the most first.
std::vector<ConstantChange> sensitivities_of(const StrategyResult& row);

// Layouts, plans and memory as the report's rows say, and every runtime whose rules are known.
std::vector<CheckResult> checks_of(const Scenario& scenario, const SimulationReport& report);

// Where the numbers of machines, model and software are from.
std::vector<Provenance> provenance_of(const Scenario& scenario, const NetworkModel& model);

}  // namespace refit
