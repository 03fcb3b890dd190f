#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/units.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/strategies.h"
#include "cli/verbs.h"
#include "report/certificate_words.h"
#include "report/table.h"
#include "scenarios/plan_limits.h"
#include "schedule/schedule_json.h"
#include "sim/predict.h"

namespace refit {
namespace {

struct PlanVerbOptions {
  std::string file;
  ClusterFileOptions machines;
  LayoutFileOptions layout;
  std::optional<std::string> strategy;
  std::vector<std::string> limits;
  std::optional<std::string> output;
};

// A plan is no question here.
Scenario scenario_of(const PlanVerbOptions& options) {
  const bool is_question = options.layout.nemo || !options.machines.files.empty();
  if (!is_question && !options.file.empty()) {
    require_machines(options.machines);
    require_layout(options.layout);
    return load_scenario(options.file);
  }
  return load_question(options.file, options.machines, options.layout).scenario;
}

std::string phase_table(const Schedule& schedule) {
  struct Counts {
    std::int64_t ops = 0, transfers = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Counts> phases(schedule.phases.size());
  for (const Op& op : schedule.ops) {
    Counts& counts = phases[op.phase];
    ++counts.ops;
    if (op.kind != OpKind::transfer) continue;
    ++counts.transfers;
    counts.bytes += op.bytes;
  }
  Table table({{"phase", Align::left}, {"ops"}, {"transfers"}, {"transferred"}, {"logical"}});
  for (std::size_t i = 0; i < phases.size(); ++i) {
    table.add_row({schedule.phases[i].name, format_count(phases[i].ops),
                   format_count(phases[i].transfers),
                   format_bytes(static_cast<double>(phases[i].bytes)),
                   format_bytes(static_cast<double>(schedule.phases[i].logical_bytes))});
  }
  return table.text();
}

std::string certificate_line(const Scenario& scenario, const Schedule& schedule) {
  const RefitBound bound = bound_of(scenario, schedule.coding.has_value());
  const Progress progress("simulating " + scenario.name);
  const double wire_s = predict(schedule, scenario.cluster, {wire_only(), {}}).makespan_s;
  const Certificate certificate = certify(schedule, scenario.cluster, bound, wire_s);
  return fmt::format("bound {}, set by {}\ncertificate: {}\n", format_seconds(certificate.bound_s),
                     certificate.bound_by, certificate_words(certificate));
}

std::string summary(const Scenario& scenario, const Schedule& schedule) {
  return fmt::format(
      "{}: {} plan, verified\n{} ranks, {} lanes, {} parcels, {} groups, {} ops\n{}\n{}",
      scenario.name, schedule.strategy, format_count(schedule.ranks), format_count(schedule.lanes),
      format_count(static_cast<std::int64_t>(schedule.parcels.size())),
      format_count(static_cast<std::int64_t>(schedule.groups.size())),
      format_count(static_cast<std::int64_t>(schedule.ops.size())),
      certificate_line(scenario, schedule), phase_table(schedule));
}

int run_plan(const PlanVerbOptions& options) {
  Scenario scenario = scenario_of(options);
  scenario.plan.limits = parse_limits(options.limits, scenario.plan.limits);
  const ChosenPolicy chosen = chosen_policy(scenario, options.strategy);
  say_reason(chosen.policy.name, chosen.reason);
  Schedule schedule;
  {
    Progress progress(fmt::format("planning {}", chosen.policy.name));
    schedule = verified_plan(scenario, chosen.policy);
  }
  if (options.output != "-") print(summary(scenario, schedule));
  if (options.output) {
    const SavedSchedule saved{scenario.name, scenario.text, std::move(schedule)};
    write_output(*options.output, [&](std::ostream& out) { write_schedule(out, saved); });
  }
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("plan", "Plan a scenario, prove the plan, and save it");
  auto options = std::make_shared<PlanVerbOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML");
  add_layout_files(*verb, options->layout);
  add_cluster_files(*verb, options->machines);
  verb->add_option(
      "--strategy", options->strategy,
      std::string(kStrategyNames) + ";\ndefault: policy if there is one, else reshard");
  verb->add_option("--limit", options->limits, kLimitHelp);
  verb->add_option("-o,--output", options->output, "Write the plan as JSON; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->file, options->output.value_or("-"));
      return run_plan(*options);
    };
  });
}

}  // namespace refit
