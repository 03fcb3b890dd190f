#include "cli/strategies.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/auto_strategy.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "planner/systems.h"
#include "scenarios/bound.h"
#include "schedule/schedule_json.h"
#include "schedule/verify.h"

namespace refit {
namespace {

constexpr const char* kBuiltIn[] = {"gather_broadcast", "direct", "reshard", "hybrid", "optimal"};
// Besides, where the scenario says how much changes.
constexpr const char* kOfChanges[] = {"delta_broadcast", "delta_reshard"};
// And where the cluster has object stores: what they, and relays instead of them, take.
constexpr const char* kByStores[] = {"object_store", "relay_tree"};
constexpr const char* kOfChangesByStores[] = {"delta_object_store", "delta_relay_tree"};
// What `auto` takes of plans that are as good: the earlier.
constexpr const char* kBySimplicity[] = {"reshard", "direct", "hybrid", "gather_broadcast",
                                         "optimal"};
constexpr const char* kOwn = "policy";

// The scenario's own policy under the name that the command line and the tables use for it.
Policy own_policy(const Scenario& scenario) {
  Policy policy = *scenario.policy;
  policy.name = kOwn;
  return policy;
}

Policy policy_called(const Scenario& scenario, const std::string& name) {
  if (name == kAuto) {
    throw Error(ErrorCode::bad_input, "--strategy: auto chooses among all, so it stands alone");
  }
  if (name != kOwn) return named_policy(name);
  if (!scenario.policy) {
    throw Error(ErrorCode::bad_input,
                fmt::format("--strategy policy: scenario {} has no policy of its own; use {}",
                            scenario.name, fmt::join(kBuiltIn, ", ")));
  }
  return own_policy(scenario);
}

}  // namespace

std::vector<std::string> known_strategies() {
  std::vector<std::string> names = {kOwn, kAuto};
  names.insert(names.end(), std::begin(kBuiltIn), std::end(kBuiltIn));
  names.insert(names.end(), std::begin(kOfChanges), std::end(kOfChanges));
  names.insert(names.end(), std::begin(kByStores), std::end(kByStores));
  names.insert(names.end(), std::begin(kOfChangesByStores), std::end(kOfChangesByStores));
  for (const System& system : systems()) names.emplace_back(system.name);
  return names;
}

Question load_question(const std::string& path, const ClusterFileOptions& machines,
                       const LayoutFileOptions& layout) {
  require_layout(layout);
  if (path.empty() != layout.nemo.has_value())
    throw Error(ErrorCode::bad_input, path.empty()
                                          ? "SCENARIO is required"
                                          : "SCENARIO and --nemo both ask a question; keep one");
  if (layout.nemo) {
    return {parse_scenario(nemo_scenario(layout, machines), *layout.nemo + " as a scenario"),
            std::nullopt};
  }
  return parse_question(read_file(path), path, machines);
}

Question parse_question(const std::string& text, const std::string& path,
                        const ClusterFileOptions& machines) {
  require_machines(machines);
  if (!looks_like_schedule(text)) {
    if (machines.files.empty()) return {parse_scenario(text, path), std::nullopt};
    return {parse_scenario(with_cluster(text, path, read_cluster_files(machines)), path),
            std::nullopt};
  }
  if (!machines.files.empty()) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: is a plan, made for its own machines; --nccl-topo is for scenarios",
                    path));
  }
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
  if (!list || list == kAuto) {
    for (const char* name : list ? kBySimplicity : kBuiltIn) policies.push_back(named_policy(name));
    const auto add = [&policies](const auto& names) {
      for (const char* name : names) policies.push_back(named_policy(name));
    };
    const bool stores = !scenario.cluster.spec().stores.empty();
    if (stores) add(kByStores);
    if (scenario.plan.delta) add(kOfChanges);
    if (scenario.plan.delta && stores) add(kOfChangesByStores);
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

int job_size(const Policy& policy) {
  if (policy.rest == Strategy::optimal) return 2;
  return policy.rest == Strategy::gather_broadcast ? 1 : 0;
}

ChosenPolicy chosen_policy(const Scenario& scenario, const std::optional<std::string>& name) {
  if (name == kAuto) return best_policy(scenario);
  if (name) return {policy_called(scenario, *name)};
  return {scenario.policy ? own_policy(scenario) : named_policy("reshard")};
}

void say_reason(const std::string& strategy, const std::string& reason) {
  if (!reason.empty()) fmt::print(stderr, "refit: auto takes {}: {}\n", strategy, reason);
}

RefitBound bound_of(const Scenario& scenario, bool coded) {
  const Progress progress("bounding " + scenario.name);
  return scenario_bound(scenario, coded);
}

std::vector<std::string> over_limits(const Schedule& schedule, const Scenario& scenario,
                                     const Timeline& timeline) {
  const PlanLimits& limits = scenario.plan.limits;
  if (!limits.any()) return {};
  return exceeded(limits, plan_needs(schedule, scenario.refit, scenario.cluster, timeline));
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
