#include "cli/run_case.h"

#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/progress.h"
#include "scenarios/scale.h"

namespace refit {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

RunCase unscaled_case(const Question& question, const std::optional<std::string>& strategy) {
  const Scenario& scenario = question.scenario;
  if (question.plan) {
    if (strategy) {
      throw Error(ErrorCode::bad_input, fmt::format("{}: is a {} plan; --strategy is for scenarios",
                                                    scenario.name, question.plan->strategy));
    }
    require_verified(*question.plan, scenario);
    return {scenario, *question.plan, std::nullopt};
  }
  ChosenPolicy chosen = chosen_policy(scenario, strategy);
  const Progress progress("planning " + scenario.name);
  return {scenario, verified_plan(scenario, chosen.policy), std::nullopt, std::move(chosen.reason)};
}

}  // namespace

double parse_scale(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto above = number_in(std::string_view(text).substr(0, slash));
  const auto below = slash == std::string::npos
                         ? std::optional<double>(1)
                         : number_in(std::string_view(text).substr(slash + 1));
  if (above && below && *below > 0) {
    const double factor = *above / *below;
    if (factor > 0 && factor <= 1) return factor;
  }
  throw Error(
      ErrorCode::bad_input,
      fmt::format("--scale: '{}' is no fraction of more than 0 and at most 1; write 1/2000", text));
}

RunCase run_case(const Question& question, const std::optional<std::string>& strategy,
                 std::optional<double> scale) {
  RunCase result = unscaled_case(question, strategy);
  if (!scale) return result;
  result.scenario = scaled(question.scenario, *scale);
  const Refit& from = question.scenario.refit;
  const Refit& to = result.scenario.refit;
  result.schedule = scaled(result.schedule, from, to);
  require_verified(result.schedule, result.scenario);
  result.scale = {
      *scale, static_cast<double>(to.unique_bytes()) / static_cast<double>(from.unique_bytes())};
  return result;
}

}  // namespace refit
