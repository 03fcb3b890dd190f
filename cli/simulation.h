#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/strategies.h"
#include "report/simulation.h"
#include "sim/predict.h"

namespace refit {

// What is asked of each strategy, besides its plan.
struct SimulationOptions {
  std::optional<std::string> strategies;  // as in --strategy
  PredictOptions predict;
  bool by_memory = false;
  int ensemble_members = 0;
};

// What a caller wants to know of each plan besides its row, as a text; asked in the process that
// has the plan. The row is complete.
using PlanText =
    std::function<std::string(const Schedule&, const Prediction&, const StrategyResult&)>;

struct Simulation {
  SimulationReport report;
  std::vector<std::string> plan_texts;  // by row
};

// The question's own plan or those of the strategies, each planned, verified and predicted in a
// process of its own, with progress.
Simulation simulate_question(const Question& question, const SimulationOptions& options,
                             const PlanText& plan_text = {});

}  // namespace refit
