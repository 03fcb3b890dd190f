#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/strategies.h"
#include "cli/verbs.h"
#include "cli/workers.h"
#include "schedule/verify.h"

namespace refit {
namespace {

struct CheckOptions {
  std::string file;
  std::optional<std::string> strategies;
};

// One finding per line.
std::string findings_of(const Schedule& schedule, const Scenario& scenario) {
  std::string lines;
  for (const Diagnostic& finding : verify(schedule, scenario.refit)) {
    lines += fmt::format("{}: {}\n", schedule.strategy, to_line(finding));
  }
  return lines;
}

std::vector<std::string> check_all(const Question& question, const CheckOptions& options) {
  const Scenario& scenario = question.scenario;
  if (question.plan) return {findings_of(*question.plan, scenario)};
  std::vector<Job> jobs;
  for (const Policy& policy : chosen_policies(scenario, options.strategies)) {
    jobs.push_back({policy.name, [&scenario, policy] {
                      return findings_of(
                          plan(scenario.refit, scenario.cluster, policy, scenario.plan), scenario);
                    }});
  }
  Progress progress(fmt::format("checking {} strategies", jobs.size()));
  return run_in_workers(jobs, kMostWorkers, [&](std::size_t done) {
    progress.say(fmt::format("{} of {} strategies checked", done, jobs.size()));
  });
}

int check(const CheckOptions& options) {
  const Question question = load_question(options.file);
  if (question.plan && options.strategies) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: is a plan; --strategy is for scenarios", options.file));
  }
  const std::vector<std::string> findings = check_all(question, options);
  std::size_t failed = 0;
  for (const std::string& lines : findings) {
    print(lines);
    if (!lines.empty()) ++failed;
  }
  const std::string plans =
      findings.size() == 1 ? "1 plan" : fmt::format("{} plans", findings.size());
  print(failed == 0 ? fmt::format("{}: correct ({} verified)\n", question.scenario.name, plans)
                    : fmt::format("{}: not correct ({} of {} failed)\n", question.scenario.name,
                                  failed, plans));
  return failed == 0 ? 0 : static_cast<int>(ErrorCode::check_failed);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("check", "Plan a scenario and prove the plans correct");
  auto options = std::make_shared<CheckOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, or a plan")->required();
  verb->add_option("--strategy", options->strategies, "Names, comma separated; default: all");
  verb->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace refit
