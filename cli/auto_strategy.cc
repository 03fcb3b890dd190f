#include "cli/auto_strategy.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/workers.h"
#include "cli/progress.h"
#include "sim/ensemble.h"

namespace refit {
namespace {

using Json = nlohmann::json;  // what workers hand back, numbers to the last bit

std::vector<Json> run_all(const std::vector<Job>& jobs, const std::string& doing) {
  Progress progress(doing);
  std::vector<Json> results;
  const auto done = [&](std::size_t count) {
    progress.say(fmt::format("{}, {} of {} done", doing, count, jobs.size()));
  };
  for (const std::string& text : run_in_workers(jobs, all_cores(), done))
    results.push_back(Json::parse(text));
  return results;
}

}  // namespace

Choice choose_among(const Scenario& scenario, const std::vector<Policy>& policies,
                    std::vector<Candidate> candidates, const PredictOptions& options) {
  const std::vector<std::size_t> close = close_to_best(candidates);
  std::vector<Job> jobs;
  for (const std::size_t i : close) {
    const Policy& policy = policies[i];
    jobs.push_back({policy.name,
                    [&scenario, &options, &policy] {
                      const Schedule schedule =
                          plan(scenario.refit, scenario.cluster, policy, scenario.plan);
                      const Ensemble times = jittered_ensemble(schedule, scenario.cluster, options);
                      return Json{times.least_s, times.median_s, times.most_s}.dump();
                    },
                    job_size(policy)});
  }
  const std::vector<Json> ensembles = run_all(jobs, "comparing " + scenario.name);
  for (std::size_t i = 0; i < close.size(); ++i) {
    const Json& times = ensembles[i];
    candidates[close[i]].ensemble = {times[0].get<double>(), times[1].get<double>(),
                                     times[2].get<double>()};
  }
  return choose(candidates);
}

std::optional<Schedule> plan_within_limits(const Scenario& scenario, const Policy& policy) {
  try {
    return verified_plan(scenario, policy);
  } catch (const Error& error) {
    if (!scenario.plan.limits.any() || error.code() != ErrorCode::bad_input) throw;
    return std::nullopt;
  }
}

Error nobody_keeps_limits(const Scenario& scenario) {
  return Error(ErrorCode::bad_input,
               fmt::format("{}: no strategy keeps the limits; --strategy optimal says what the "
                           "nearest plan takes",
                           scenario.name));
}

ChosenPolicy best_policy(const Scenario& scenario) {
  const std::vector<Policy> all = chosen_policies(scenario, kAuto);
  const PredictOptions options{scenario.network_model, {}};
  std::vector<Job> jobs;
  for (const Policy& policy : all) {
    jobs.push_back({policy.name,
                    [&scenario, &options, &policy] {
                      const std::optional<Schedule> schedule = plan_within_limits(scenario, policy);
                      if (!schedule) return Json{0, 0.0, false}.dump();
                      const Prediction prediction = predict(*schedule, scenario.cluster, options);
                      const bool fits =
                          over_limits(*schedule, scenario, prediction.timeline).empty();
                      return Json{schedule->ops.size(), prediction.makespan_s, fits}.dump();
                    },
                    job_size(policy)});
  }
  const std::vector<Json> results = run_all(jobs, "choosing for " + scenario.name);
  std::vector<Policy> policies;
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!results[i][2].get<bool>()) continue;
    policies.push_back(all[i]);
    candidates.push_back(
        {all[i].name, results[i][0].get<std::int64_t>(), results[i][1].get<double>()});
  }
  if (policies.empty()) throw nobody_keeps_limits(scenario);
  Choice choice = choose_among(scenario, policies, std::move(candidates), options);
  return {policies[choice.index], std::move(choice.reason)};
}

}  // namespace refit
