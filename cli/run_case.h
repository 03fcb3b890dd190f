#pragma once

#include <optional>
#include <string>

#include "cli/strategies.h"
#include "report/run_report.h"

namespace refit {

// "1/2000" or "0.0005"; Error(bad_input) unless it is more than 0 and at most 1.
double parse_scale(const std::string& text);

// A scenario and a verified plan for it, both made smaller if asked: what `refit run` runs and
// `refit compare` predicts.
struct RunCase {
  Scenario scenario;
  Schedule schedule;
  std::optional<RunScale> scale;
  std::string reason = {};  // ChosenPolicy
};

// The question's own plan, or that of the strategy (chosen_policy). The plan is made for the
// scenario as written and then scaled, so that it is op for op the one that `refit plan` saves.
RunCase run_case(const Question& question, const std::optional<std::string>& strategy,
                 std::optional<double> scale);

}  // namespace refit
