#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "cli/cluster_files.h"
#include "cli/layout_files.h"
#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "sim/certificate.h"

namespace refit {

// The file a verb was given: a scenario, or a saved plan with its scenario inside.
struct Question {
  Scenario scenario;
  std::optional<Schedule> plan;
};

// With files about machines, these instead of the scenario's cluster; a plan is made for its own.
// With a file about layouts, the scenario that it makes, and no path.
Question load_question(const std::string& path, const ClusterFileOptions& machines = {},
                       const LayoutFileOptions& layout = {});
Question parse_question(const std::string& text, const std::string& path,
                        const ClusterFileOptions& machines = {});

// The names that --strategy takes, for its help text.
inline constexpr const char* kStrategyNames =
    "gather_broadcast, direct, reshard, hybrid, optimal, object_store, relay_tree, "
    "delta_broadcast,\n"
    "delta_reshard, delta_object_store, delta_relay_tree (changes only, of scenarios with "
    "`delta`),\n"
    "policy (the scenario's own) or auto (the best of these by prediction)";

// Those and the systems, one by one.
std::vector<std::string> known_strategies();

// The policies named in a comma-separated list; "policy" is the scenario's own. Without a list: all
// built-in strategies, then the scenario's own if it has one. "auto" alone: all of these in the
// order in which ties are decided, simple plans first.
std::vector<Policy> chosen_policies(const Scenario& scenario,
                                    const std::optional<std::string>& list);

// For workers, of jobs that do the same for several policies: `optimal` plans longest, and buckets
// that everybody gets are long to verify.
int job_size(const Policy& policy);

struct ChosenPolicy {
  Policy policy;
  std::string reason = {};  // of "auto": why, two lines
};

// One name, or without a name the scenario's own policy, else reshard. "auto" plans and predicts
// all that there are.
ChosenPolicy chosen_policy(const Scenario& scenario, const std::optional<std::string>& name);

// Says on standard error why a strategy was taken, if there is a reason.
void say_reason(const std::string& strategy, const std::string& reason);

// What is proven of every plan of the scenario, with progress. `coded`: of those that send changes
// as the scenario's `delta` says.
RefitBound bound_of(const Scenario& scenario, bool coded = false);

// What the scenario limits and the plan exceeds, in words. `timeline`: when each op runs.
std::vector<std::string> over_limits(const Schedule& schedule, const Scenario& scenario,
                                     const Timeline& timeline);

// For the help text of --limit.
inline constexpr const char* kLimitHelp =
    "KEY=VALUE, may be repeated: extra_memory, ops, communicators, peers, nic_bandwidth, ctas,\n"
    "cta_bandwidth, each per rank; kept by optimal, on top of the scenario's plan: limits:";

// "op 12 (transfer 1 -> 5): ..."
std::string to_line(const Diagnostic& finding);

// Error(check_failed) with the findings if the schedule is no answer to the scenario.
void require_verified(const Schedule& schedule, const Scenario& scenario);

// The policy's plan, verified.
Schedule verified_plan(const Scenario& scenario, const Policy& policy);

}  // namespace refit
