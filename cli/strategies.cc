#include "cli/strategies.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/output.h"
#include "schedule/schedule_json.h"
#include "schedule/verify.h"

namespace refit {
namespace {

constexpr const char* kBuiltIn[] = {"gather_broadcast", "direct", "reshard", "hybrid"};
constexpr const char* kOwn = "policy";

// The scenario's own policy under the name that the command line and the tables use for it.
Policy own_policy(const Scenario& scenario) {
  Policy policy = *scenario.policy;
  policy.name = kOwn;
  return policy;
}

Policy policy_called(const Scenario& scenario, const std::string& name) {
  if (name != kOwn) return named_policy(name);
  if (!scenario.policy) {
    throw Error(ErrorCode::bad_input,
                fmt::format("--strategy policy: scenario {} has no policy of its own; use {}",
                            scenario.name, fmt::join(kBuiltIn, ", ")));
  }
  return own_policy(scenario);
}

}  // namespace

Question load_question(const std::string& path) {
  const std::string text = read_file(path);
  if (!looks_like_schedule(text)) return {parse_scenario(text, path), std::nullopt};
  SavedSchedule saved = read_schedule(text, path);
  Question question{parse_scenario(saved.scenario_text, path + ": scenario"),
                    std::move(saved.schedule)};
  if (question.plan->ranks != question.scenario.refit.ranks) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: ranks: {} do not fit its scenario, which has {}", path,
                            question.plan->ranks, question.scenario.refit.ranks));
  }
  return question;
}

std::vector<Policy> chosen_policies(const Scenario& scenario,
                                    const std::optional<std::string>& list) {
  std::vector<Policy> policies;
  if (!list) {
    for (const char* name : kBuiltIn) policies.push_back(named_policy(name));
    if (scenario.policy) policies.push_back(own_policy(scenario));
    return policies;
  }
  for (std::size_t begin = 0; begin <= list->size();) {
    const std::size_t end = std::min(list->find(',', begin), list->size());
    Policy policy = policy_called(scenario, list->substr(begin, end - begin));
    for (const Policy& other : policies) {
      if (other.name == policy.name) {
        throw Error(ErrorCode::bad_input,
                    fmt::format("--strategy: {} is named twice", policy.name));
      }
    }
    policies.push_back(std::move(policy));
    begin = end + 1;
  }
  return policies;
}

Policy chosen_policy(const Scenario& scenario, const std::optional<std::string>& name) {
  if (name) return policy_called(scenario, *name);
  return scenario.policy ? own_policy(scenario) : named_policy("reshard");
}

std::string to_line(const Diagnostic& finding) {
  return fmt::format("{}: {}", finding.where, finding.message);
}

void require_verified(const Schedule& schedule, const Scenario& scenario) {
  const Diagnostics findings = verify(schedule, scenario.refit);
  if (findings.empty()) return;
  std::string text =
      fmt::format("{}: the {} plan is not correct:", scenario.name, schedule.strategy);
  for (const Diagnostic& finding : findings) text += "\n  " + to_line(finding);
  throw Error(ErrorCode::check_failed, text);
}

Schedule verified_plan(const Scenario& scenario, const Policy& policy) {
  Schedule schedule = plan(scenario.refit, scenario.cluster, policy, scenario.plan);
  require_verified(schedule, scenario);
  return schedule;
}

}  // namespace refit
