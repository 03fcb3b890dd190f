#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "checks/runtimes.h"
#include "cli/auto_strategy.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/strategies.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "scenarios/layout_error.h"
#include "report/conversion_words.h"
#include "schedule/verify.h"
#include "sim/memory.h"
#include "sim/predict.h"

namespace refit {
namespace {

struct CheckOptions {
  std::string file;
  ClusterFileOptions machines;
  LayoutFileOptions layout;
  std::optional<std::string> strategies;
  std::vector<std::string> runtimes;
};

// Empty if every GPU has room for what a plan puts on it.
std::string memory_finding(const Schedule& schedule, const Scenario& scenario) {
  const Prediction prediction = predict(schedule, scenario.cluster);
  const MemoryUse memory =
      memory_use(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  if (!memory.first_over) return {};
  const Rank rank = *memory.first_over;
  const RankMemoryUse& use = memory.peak[rank.index()];
  return fmt::format(
      "{}: memory: rank {} needs {} at its peak, {} of it {}, and its GPU has {}; use more GPUs "
      "for "
      "that side, or cut it further\n",
      schedule.strategy, rank.value, format_bytes(use.total()),
      format_bytes(use.bytes[static_cast<std::size_t>(use.dominant())]), to_string(use.dominant()),
      format_bytes(scenario.cluster.group(rank).gpu_memory_bytes));
}

// One finding per line.
std::string findings_of(const Schedule& schedule, const Scenario& scenario) {
  std::string lines;
  for (const Diagnostic& finding : verify(schedule, scenario.refit)) {
    lines += fmt::format("{}: {}\n", schedule.strategy, to_line(finding));
  }
  return lines.empty() ? memory_finding(schedule, scenario) : lines;
}

std::vector<std::string> check_all(const Question& question, const CheckOptions& options) {
  const Scenario& scenario = question.scenario;
  if (question.plan) return {findings_of(*question.plan, scenario)};
  std::vector<Policy> policies;
  if (options.strategies == kAuto) {
    ChosenPolicy chosen = chosen_policy(scenario, kAuto);
    say_reason(chosen.policy.name, chosen.reason);
    policies.push_back(std::move(chosen.policy));
  } else {
    policies = chosen_policies(scenario, options.strategies);
  }
  std::vector<Job> jobs;
  for (const Policy& policy : policies) {
    jobs.push_back({policy.name,
                    [&scenario, policy] {
                      return findings_of(
                          plan(scenario.refit, scenario.cluster, policy, scenario.plan), scenario);
                    },
                    job_size(policy)});
  }
  Progress progress(
      fmt::format("checking {} {}", jobs.size(), jobs.size() == 1 ? "strategy" : "strategies"));
  return run_in_workers(jobs, all_cores(), [&](std::size_t done) {
    progress.say(fmt::format("{} of {} strategies checked", done, jobs.size()));
  });
}

// Says what each runtime would refuse, a finding of many tensors once. Whether all take it.
bool say_runtime_findings(const Question& question, const std::vector<std::string>& runtimes) {
  bool all = true;
  std::string text;
  for (const std::string& runtime : runtimes) {
    const Findings findings = findings_of_runtime(runtime, question.scenario);
    all = all && findings.empty();
    for (const std::string& line : lines_by_rule(findings)) text += line + "\n";
    if (findings.empty()) text += fmt::format("{}: takes it\n", runtime);
  }
  print(text);
  return all;
}

// Layouts that are not legal: all findings, of both sides.
int say_layout_findings(const LayoutError& error) {
  for (const std::string& finding : error.findings()) print(finding + "\n");
  print(fmt::format("{} ({} finding{})\n", painted("not legal", Mark::alarm, paint_of()),
                    error.findings().size(), error.findings().size() == 1 ? "" : "s"));
  return static_cast<int>(ErrorCode::check_failed);
}

int check(const CheckOptions& options) {
  std::optional<Question> loaded;
  try {
    loaded = load_question(options.file, options.machines, options.layout);
  } catch (const LayoutError& error) {
    return say_layout_findings(error);
  }
  const Question& question = *loaded;
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
  const bool taken = say_runtime_findings(question, options.runtimes);
  const std::string plans =
      findings.size() == 1 ? "1 plan" : fmt::format("{} plans", findings.size());
  print(failed == 0 ? fmt::format("{}: correct ({} verified)\n", question.scenario.name, plans)
                    : fmt::format("{}: {} ({} of {} failed)\n", question.scenario.name,
                                  painted("not correct", Mark::alarm, paint_of()), failed, plans));
  // A correct plan brings the right bytes; values that must change on the way are not its proof.
  for (const ConversionTotal& total : conversion_totals(question.scenario.refit))
    print(fmt::format("  converts at the {}\n", conversion_words(total)));
  return failed == 0 && taken ? 0 : static_cast<int>(ErrorCode::check_failed);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("check", "Plan a scenario and prove the plans correct");
  auto options = std::make_shared<CheckOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, or a plan");
  add_layout_files(*verb, options->layout);
  add_cluster_files(*verb, options->machines);
  verb->add_option("--strategy", options->strategies,
                   std::string("Comma separated: ") + kStrategyNames + "; default: all but auto");
  verb->add_option("--runtime", options->runtimes,
                   "Would it take the layouts, too? Comma separated: nccl_m2n,\n"
                   "nemo_rl_reshard, nemo_rl_sparse, nemo_rl_s3_sparse, nemo_rl_nixl, vllm_loader")
      ->delimiter(',')
      ->check(CLI::IsMember(runtime_names()));
  verb->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace refit
