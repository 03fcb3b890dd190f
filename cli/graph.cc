#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_dot.h"
#include "cli/strategies.h"
#include "cli/verbs.h"
#include "report/drawing.h"
#include "report/plan_graph.h"
#include "report/stage_graph.h"
#include "report/topology_graph.h"
#include "report/traffic_graph.h"
#include "sim/predict.h"
#include "sim/traffic.h"

namespace refit {
namespace {

struct GraphOptions {
  std::string file;
  ClusterFileOptions machines;
  LayoutFileOptions layout;
  std::optional<std::string> strategy;
  std::string kind = "plan";
  std::optional<std::string> level;
  std::string output = "-";
};

Schedule planned(const Question& question, const GraphOptions& options) {
  if (!question.plan) {
    const ChosenPolicy chosen = chosen_policy(question.scenario, options.strategy);
    say_reason(chosen.policy.name, chosen.reason);
    return verified_plan(question.scenario, chosen.policy);
  }
  if (options.strategy) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: is a {} plan; --strategy is for scenarios",
                                                  options.file, question.plan->strategy));
  }
  require_verified(*question.plan, question.scenario);
  return *question.plan;
}

// The suffix says what to write; a wrong one would put DOT text into a picture's file.
void require_suffix(const std::string& output) {
  const std::string suffix = std::filesystem::path(output).extension().string();
  if (suffix.empty() || suffix == ".dot" || suffix == ".gv" || suffix == ".svg") return;
  throw Error(ErrorCode::bad_input,
              fmt::format("-o {}: '{}' can't be drawn; use .dot or .svg", output, suffix));
}

// Options that the kind of picture has no use for would be taken for answered.
void require_used(const GraphOptions& options) {
  if (options.level && options.kind != "plan")
    throw Error(ErrorCode::bad_input,
                fmt::format("--level is for --kind plan, not {}", options.kind));
  if (options.strategy && options.kind == "topology")
    throw Error(ErrorCode::bad_input, "--kind topology draws machines, which need no --strategy");
}

std::string plan_text(const Schedule& schedule, const Scenario& scenario,
                      const std::optional<std::string>& level) {
  const Refit& refit = scenario.refit;
  if (level ? *level == "ranks" : draws_by_rank(schedule, refit))
    return rank_graph(schedule, refit, scenario.cluster);
  const std::vector<double> bytes = domain_traffic(schedule, scenario.cluster);
  // Who asks for a level gets all of it.
  if (level) return domain_graph(schedule, group_traffic(refit, scenario.cluster, bytes, 1), true);
  const auto fits = [](const GroupTraffic& traffic) {
    return traffic.groups.size() <= kMostNodes && telling_pairs(traffic).size() < kMostEdges;
  };
  return domain_graph(schedule, finest_groups(refit, scenario.cluster, bytes, fits), false);
}

std::string graph_text(const Question& question, const GraphOptions& options) {
  const Scenario& scenario = question.scenario;
  if (options.kind == "topology") return topology_graph(scenario.cluster, scenario.refit);
  const Schedule schedule = planned(question, options);
  Progress progress("drawing " + scenario.name);
  if (options.kind == "traffic") {
    return traffic_graph(schedule.strategy,
                         finest_groups(scenario.refit, scenario.cluster,
                                       domain_traffic(schedule, scenario.cluster), fits_table));
  }
  if (options.kind == "stages") {
    const PredictOptions by_model{scenario.network_model, {}};
    return stage_graph(schedule, predict(schedule, scenario.cluster, by_model));
  }
  return plan_text(schedule, scenario, options.level);
}

int graph(const GraphOptions& options) {
  require_suffix(options.output);
  require_used(options);
  const Question question = load_question(options.file, options.machines, options.layout);
  const std::string text = graph_text(question, options);
  write_output(options.output,
               options.output.ends_with(".svg") ? svg_of(text, options.output) : text);
  return 0;
}

}  // namespace

void add_graph(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "graph", "Draw machines, a plan, its traffic or its stages, as DOT or SVG");
  auto options = std::make_shared<GraphOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, or a plan");
  add_layout_files(*verb, options->layout);
  add_cluster_files(*verb, options->machines);
  verb->add_option(
      "--strategy", options->strategy,
      std::string(kStrategyNames) + ";\ndefault: policy if there is one, else reshard");
  verb->add_option("--kind", options->kind,
                   "plan (who sends what to whom; default), topology (the machines),\n"
                   "traffic (a table of bytes) or stages (what waits for what)")
      ->check(CLI::IsMember({"plan", "topology", "traffic", "stages"}));
  verb->add_option("--level", options->level,
                   "of a plan: ranks or domains, all of them; default: by size")
      ->check(CLI::IsMember({"ranks", "domains"}));
  verb->add_option("-o,--output", options->output,
                   "x.dot, or x.svg through the program 'dot'; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->file, options->output);
      return graph(*options);
    };
  });
}

}  // namespace refit
