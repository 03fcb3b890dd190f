#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "cli/network_models.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/strategies.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "planner/crossover.h"
#include "report/table.h"

namespace refit {
namespace {

struct CrossoverOptions {
  std::string file;
  std::string strategies = "gather_broadcast,reshard,delta_reshard";
  std::string link;
  std::vector<std::string> bandwidths;
  std::vector<double> changes = {0.1, 0.3, 1, 3, 10};
  std::optional<std::string> network_model;
  bool json = false;
  bool csv = false;
  std::string output = "-";
};

// From a tenth to ten times what the scenario has, in steps of a half and a fifth.
std::vector<double> usual_bandwidths(const Cluster& cluster, LinkKind link) {
  const double base = link == LinkKind::wan ? cluster.spec().wans.front().bytes_per_s
                                            : cluster.spec().groups.front().nic_bytes_per_s;
  std::vector<double> rates;
  for (const double times : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0}) rates.push_back(times * base);
  return rates;
}

CrossoverQuestion question_of(const Scenario& scenario, const CrossoverOptions& options) {
  const bool has_wan = !scenario.cluster.spec().wans.empty();
  const bool wan = options.link.empty() ? has_wan : options.link == "wan";
  if (wan && !has_wan)
    throw Error(ErrorCode::bad_input, "--link wan: the cluster has no WAN link; use nic");
  CrossoverQuestion question{
      scenario.refit,
      scenario.cluster,
      scenario.plan,
      options.network_model ? network_model_named(*options.network_model) : scenario.network_model,
      chosen_policies(scenario, options.strategies),
      wan ? LinkKind::wan : LinkKind::nic,
      {},
      {}};
  for (const std::string& text : options.bandwidths)
    question.bytes_per_s.push_back(parse_bandwidth(text));
  if (question.bytes_per_s.empty())
    question.bytes_per_s = usual_bandwidths(scenario.cluster, question.link);
  for (const double percent : options.changes) question.changed.push_back(percent / 100);
  std::sort(question.bytes_per_s.begin(), question.bytes_per_s.end());
  std::sort(question.changed.begin(), question.changed.end());
  return question;
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string crossing_line(const Crossing& crossing) {
  if (crossing.of_bandwidth) {
    return fmt::format("at {} changed: {} up to {}, {} above it ({} each there)\n",
                       percent(crossing.changed), crossing.below,
                       format_bandwidth(crossing.bytes_per_s), crossing.above,
                       format_seconds(crossing.seconds));
  }
  return fmt::format("at {}: {} up to {} changed, {} above it ({} each there)\n",
                     format_bandwidth(crossing.bytes_per_s), crossing.below,
                     percent(crossing.changed), crossing.above, format_seconds(crossing.seconds));
}

std::string summary(const Scenario& scenario, const CrossoverQuestion& question,
                    const Crossover& found) {
  const char* link = question.link == LinkKind::wan ? "WAN link" : "NIC";
  std::string text = fmt::format(
      "{}\nfastest by prediction ({}), by bandwidth of each {} and share of weights that "
      "changed\n\n",
      scenario.name, question.network_model.name, link);
  std::vector<Table::Column> columns = {{link}};
  for (const double changed : question.changed) columns.push_back({percent(changed)});
  Table table(columns);
  for (std::size_t b = 0; b < question.bytes_per_s.size(); ++b) {
    std::vector<Cell> cells = {bandwidth_cell(question.bytes_per_s[b])};
    for (std::size_t c = 0; c < question.changed.size(); ++c) {
      const std::size_t way = found.fastest[b][c];
      cells.push_back(
          fmt::format("{} {}", found.ways[way], format_seconds(found.seconds[b][c][way])));
    }
    table.add_row(std::move(cells));
  }
  text += table.text() + "\n";
  for (const Crossing& crossing : found.crossings) text += crossing_line(crossing);
  if (found.crossings.empty())
    text += fmt::format("{} is the fastest everywhere\n", found.ways[found.fastest[0][0]]);
  return text;
}

std::string json_text(const Scenario& scenario, const CrossoverQuestion& question,
                      const Crossover& found) {
  using Json = nlohmann::ordered_json;
  Json places = Json::array();
  for (std::size_t b = 0; b < question.bytes_per_s.size(); ++b) {
    for (std::size_t c = 0; c < question.changed.size(); ++c) {
      Json seconds;
      for (std::size_t w = 0; w < found.ways.size(); ++w)
        seconds[found.ways[w]] = found.seconds[b][c][w];
      places.push_back({{"bytes_per_s", question.bytes_per_s[b]},
                        {"changed", question.changed[c]},
                        {"fastest", found.ways[found.fastest[b][c]]},
                        {"seconds", seconds}});
    }
  }
  Json crossings = Json::array();
  for (const Crossing& crossing : found.crossings) {
    crossings.push_back({{"between", crossing.of_bandwidth ? "bandwidths" : "change rates"},
                         {"bytes_per_s", crossing.bytes_per_s},
                         {"changed", crossing.changed},
                         {"below", crossing.below},
                         {"above", crossing.above},
                         {"seconds", crossing.seconds}});
  }
  const Json document = {{"schema", "refit.crossover/1"},
                         {"scenario", scenario.name},
                         {"network_model", question.network_model.name},
                         {"link", std::string(to_string(question.link))},
                         {"places", places},
                         {"crossings", crossings}};
  return document.dump(2) + "\n";
}

// A row per place and strategy.
Table places_table(const CrossoverQuestion& question, const Crossover& found) {
  Table table({{"bytes_per_s"}, {"changed"}, {"strategy"}, {"prediction_s"}, {"is_fastest"}});
  for (std::size_t b = 0; b < question.bytes_per_s.size(); ++b) {
    for (std::size_t c = 0; c < question.changed.size(); ++c) {
      for (std::size_t w = 0; w < found.ways.size(); ++w) {
        table.add_row({bandwidth_cell(question.bytes_per_s[b]),
                       Cell(percent(question.changed[c]), question.changed[c]), found.ways[w],
                       seconds_cell(found.seconds[b][c][w]),
                       number_cell(w == found.fastest[b][c])});
      }
    }
  }
  return table;
}

int crossover(const CrossoverOptions& options) {
  const Question question = load_question(options.file);
  if (question.plan) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: is a plan; a crossover needs a scenario", options.file));
  }
  const CrossoverQuestion asked = question_of(question.scenario, options);
  Progress progress("planning and predicting " + question.scenario.name);
  const Crossover found = find_crossover(asked);
  write_output(options.output, options.json  ? json_text(question.scenario, asked, found)
                               : options.csv ? places_table(asked, found).csv()
                                             : summary(question.scenario, asked, found));
  return 0;
}

}  // namespace

void add_crossover(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "crossover", "At which bandwidth and change rate strategies change places");
  auto options = std::make_shared<CrossoverOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML with `delta`")->required();
  verb->add_option("--strategy", options->strategies,
                   "Comma separated; default: gather_broadcast,reshard,delta_reshard");
  verb->add_option("--link", options->link,
                   "Whose bandwidth varies: nic or wan; default: wan where there is one")
      ->check(CLI::IsMember({"nic", "wan"}));
  verb->add_option("--bandwidth", options->bandwidths,
                   "Comma separated, such as '5 Gbit/s'; default: 0.1 to 10 times the scenario's")
      ->delimiter(',');
  verb->add_option("--change", options->changes,
                   "Comma separated, such as '1 %' of the weights; default: 0.1,0.3,1,3,10 percent")
      ->delimiter(',')
      ->transform(CLI::Validator(
          [](std::string& text) {
            if (text.ends_with('%')) text.pop_back();
            while (text.ends_with(' ')) text.pop_back();
            return std::string();
          },
          ""))
      ->check(number_from(1e-4, 100.0));
  verb->add_option("--network-model", options->network_model,
                   "Name or YAML file; default: the scenario's");
  add_csv(*verb, options->csv,
          verb->add_flag("--json", options->json, "Print refit.crossover/1 instead of a table"));
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->file, options->output);
      return crossover(*options);
    };
  });
}

}  // namespace refit
