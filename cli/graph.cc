#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_dot.h"
#include "cli/strategies.h"
#include "cli/verbs.h"
#include "report/dot.h"
#include "sim/traffic.h"

namespace refit {
namespace {

struct GraphOptions {
  std::string file;
  ClusterFileOptions machines;
  LayoutFileOptions layout;
  std::optional<std::string> strategy;
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

int graph(const GraphOptions& options) {
  require_suffix(options.output);
  const Question question = load_question(options.file, options.machines, options.layout);
  const Scenario& scenario = question.scenario;
  const Schedule schedule = planned(question, options);
  Progress progress("drawing " + scenario.name);
  GraphLevel level = default_graph_level(scenario.refit);
  if (options.level) level = *options.level == "ranks" ? GraphLevel::ranks : GraphLevel::domains;
  const std::string text = level == GraphLevel::ranks
                               ? rank_graph(schedule, scenario.refit, scenario.cluster)
                               : domain_graph(schedule, scenario.refit, scenario.cluster,
                                              domain_traffic(schedule, scenario.cluster));
  write_output(options.output,
               options.output.ends_with(".svg") ? svg_of(text, options.output) : text);
  return 0;
}

}  // namespace

void add_graph(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("graph", "Draw who sends what to whom, as DOT or SVG");
  auto options = std::make_shared<GraphOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, or a plan");
  add_layout_files(*verb, options->layout);
  add_cluster_files(*verb, options->machines);
  verb->add_option(
      "--strategy", options->strategy,
      std::string(kStrategyNames) + ";\ndefault: policy if there is one, else reshard");
  verb->add_option("--level", options->level, "ranks (default up to 64 ranks) or domains")
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
