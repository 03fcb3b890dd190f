#include <algorithm>
#include <filesystem>
#include <fstream>
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
#include "cli/network_models.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report_facts.h"
#include "cli/simulation.h"
#include "cli/verbs.h"
#include "report/html.h"
#include "report/plan_picture.h"
#include "report/sweep_page.h"
#include "sim/traffic.h"
#include "sweep/sensitivity.h"
#include "sweep/sweep_csv.h"

namespace refit {
namespace {

struct ReportOptions {
  std::string file;
  ClusterFileOptions machines;
  LayoutFileOptions layout;
  std::optional<std::string> strategies;
  std::optional<std::string> network_model;
  bool no_what_ifs = false;
  std::string output;
};

// The ranks of most interest: the last to end, one at the busiest link, the fullest, and the first
// of either side.
std::vector<Rank> telling_ranks(const Schedule& schedule, const Scenario& scenario,
                                const Prediction& prediction, const StrategyResult& row) {
  std::vector<Rank> ranks;
  const auto add = [&](Rank rank) {
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  };
  const Timeline& timeline = prediction.timeline;
  const auto last =
      std::max_element(timeline.begin(), timeline.end(),
                       [](const Span& a, const Span& b) { return a.end_s < b.end_s; });
  if (last != timeline.end()) {
    const Op& op = schedule.ops[static_cast<std::size_t>(last - timeline.begin())];
    add(op.kind == OpKind::transfer ? op.dst : schedule.groups[op.group.index()].ranks.front());
  }
  const Cluster& cluster = scenario.cluster;
  for (int r = 0; r < cluster.gpus(); ++r) {
    const Rank rank(r);
    const LinkId link = prediction.busiest.link;
    if (cluster.nic_in(rank) == link || cluster.nic_out(rank) == link ||
        cluster.nvlink_in(rank) == link || cluster.nvlink_out(rank) == link) {
      add(rank);
      break;
    }
  }
  add(row.memory_rank);
  add(scenario.refit.sources.front());
  add(scenario.refit.destinations.front());
  return ranks;
}

std::string picture_of(const Schedule& schedule, const Scenario& scenario,
                       const Prediction& prediction, const StrategyResult& row) {
  const Cluster& cluster = scenario.cluster;
  const int unit = std::max(1, cluster.spec().groups.front().gpus_per_node);
  const PlanPicture picture{
      row.strategy, link_picture(cluster, cluster.gpus(), prediction),
      transfer_picture(schedule, cluster, domain_traffic(schedule, cluster)),
      timeline_picture(schedule, prediction.timeline,
                       telling_ranks(schedule, scenario, prediction, row), unit),
      phase_traffic(schedule, cluster)};
  return plan_picture_json(picture, schedule);
}

// What was chosen, else the fastest of those that keep the limits, else the fastest.
std::size_t answer_row(const SimulationReport& report) {
  std::size_t best = 0;
  const auto rank_of = [&](const StrategyResult& row) {
    const bool over = row.limits && !row.limits->exceeded.empty();
    return std::pair(over, row.predicted_s);
  };
  for (std::size_t i = 0; i < report.strategies.size(); ++i) {
    const StrategyResult& row = report.strategies[i];
    if (report.chosen && row.strategy == report.chosen->strategy) return i;
    if (rank_of(row) < rank_of(report.strategies[best])) best = i;
  }
  return best;
}

// Of the answer alone: each is a plan and a prediction more.
std::vector<Sensitivity> what_ifs_of(const Scenario& scenario, const std::string& strategy,
                                     const NetworkModel& model) {
  const Progress progress("what if: " + scenario.name);
  return sensitivity(scenario, {strategy}, all_cores(),
                     [&model](Scenario& changed) { changed.network_model = model; });
}

std::vector<std::string> commands_of(const Question& question, const ReportOptions& options) {
  std::string more, more_of_page;
  if (options.strategies) more += " --strategy " + *options.strategies;
  if (options.network_model) more += " --network-model " + *options.network_model;
  if (options.no_what_ifs) more_of_page = " --no-what-ifs";
  const std::string what = question.plan ? "plan.json" : "scenario.yaml";
  return {"refit report " + what + more + more_of_page + " -o report.html",
          "refit simulate " + what + more, "refit check " + what};
}

bool is_sweep(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe is read once
  std::string begin(kSweepCsvBegin.size(), ' ');
  std::ifstream(path, std::ios::binary)
      .read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kSweepCsvBegin;
}

// Of the results of refit sweep, of all points or of those there are.
int report_sweep(const ReportOptions& options) {
  const auto refuse = [&](bool given, const char* option) {
    if (given)
      throw Error(
          ErrorCode::bad_input,
          fmt::format("{}: is the result of a sweep; {} is for scenarios", options.file, option));
  };
  refuse(options.strategies.has_value(), "--strategy");
  refuse(options.network_model.has_value(), "--network-model");
  refuse(!options.machines.files.empty(), "--nccl-topo");
  refuse(options.layout.nemo.has_value(), "--nemo");
  // Of rows of one point the last counts.
  const SweepTable table = parse_sweep_csv(
      sweep_csv(parse_sweep_csv(read_file(options.file), options.file)), options.file);
  if (table.rows.empty())
    throw Error(ErrorCode::bad_input, fmt::format("{}: has no points yet", options.file));
  const std::string name = std::filesystem::path(options.file).stem().string();
  write_output(options.output, sweep_page(name, table, REFIT_VERSION));
  return 0;
}

int report(const ReportOptions& options) {
  if (is_sweep(options.file)) return report_sweep(options);
  const Question question = load_question(options.file, options.machines, options.layout);
  const Scenario& scenario = question.scenario;
  if (question.plan && options.strategies) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: is a {} plan; --strategy is for scenarios",
                                                  options.file, question.plan->strategy));
  }
  const NetworkModel model =
      options.network_model ? network_model_named(*options.network_model) : scenario.network_model;
  const PlanText picture = [&scenario](const Schedule& schedule, const Prediction& prediction,
                                       const StrategyResult& row) {
    return picture_of(schedule, scenario, prediction, row);
  };
  Simulation simulation = simulate_question(
      question, {options.strategies, PredictOptions{model, {}}, true, 0}, picture);
  HtmlReport page;
  page.simulation = std::move(simulation.report);
  page.shown = answer_row(page.simulation);
  page.question = question_words(scenario);
  page.plan_pictures = std::move(simulation.plan_texts);
  for (const StrategyResult& row : page.simulation.strategies)
    page.sensitivities.push_back(sensitivities_of(row));
  if (!question.plan && !options.no_what_ifs)
    page.what_ifs =
        what_ifs_of(scenario, page.simulation.strategies.at(page.shown).strategy, model);
  page.layouts = layout_picture(scenario.refit, scenario.model ? &*scenario.model : nullptr);
  page.roles = bytes_by_role(scenario.refit);
  page.checks = checks_of(scenario, page.simulation);
  page.provenance = provenance_of(scenario, model);
  page.scenario_text = scenario.text;
  page.of_plan = question.plan.has_value();
  page.commands = commands_of(question, options);
  page.version = REFIT_VERSION;
  write_output(options.output, html_page(page, scenario.refit, scenario.cluster));
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("report", "Write the whole answer as one HTML page that needs no network");
  auto options = std::make_shared<ReportOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, a plan, or CSV of refit sweep")
      ->required();
  add_cluster_files(*verb, options->machines);
  add_layout_files(*verb, options->layout);
  verb->add_option("--strategy", options->strategies,
                   std::string("Comma separated: ") + kStrategyNames + "; default: all but auto");
  verb->add_option("--network-model", options->network_model,
                   "Name or YAML file; default: the scenario's");
  verb->add_flag(
      "--no-what-ifs", options->no_what_ifs,
      "Leave out what faster NICs, larger domains, one engine more would change: each is\n"
      "planned and predicted anew");
  verb->add_option("-o,--output", options->output, "The page to write; - is standard output")
      ->required();
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->file, options->output);
      return report(*options);
    };
  });
}

}  // namespace refit
