#pragma once

#include <string>

#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "sweep/row.h"
#include "sweep/sweep.h"

namespace refit {

// Plans the scenario, proves the plan, bounds the refit and predicts how long the plan takes:
// fills what is predicted of a row. `strategy`: a name that named_policy knows, or "policy" for the
// scenario's own. Error(bad_input) if there is no such plan.
void predict_row(const Scenario& scenario, const std::string& strategy, SweepRow& row);

// Error(bad_input) at its place unless it is a name that predict_row knows.
void require_strategy(const YamlTree& strategy);

// The scenario of a point. Errors name the file and line that the wrong value comes from.
Scenario scenario_of(const Sweep& sweep, const SweepPoint& point);

// A point's whole row. Only Error(bad_input) makes it infeasible; others are thrown.
SweepRow evaluate_point(const Sweep& sweep, std::int64_t number);

}  // namespace refit
