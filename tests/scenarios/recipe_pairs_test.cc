// Every model of the catalog in every pair of layouts that NeMo RL's example recipes have: planned
// and proved at its own size, and run on real memory with dims as short as the cuts allow
// (tests/support/short_dims.h): not a byte may be wrong.
#include <catch2/catch.hpp>

#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "executor/execute.h"
#include "models/import/hf_config.h"
#include "scenarios/layout_error.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"
#include "tests/support/recipe_layouts.h"
#include "tests/support/short_dims.h"

namespace refit::test {
namespace {

const char* const kStrategies[] = {"direct", "reshard", "hybrid", "gather_broadcast", "optimal"};

// Chunks of what is run. As many threads as ranks take their time for every message; two chunks
// still follow each other through relays.
constexpr int kFewChunks = 2, kOneChunk = 1;

struct Counts {
  int pairs = 0, legal = 0, skipped = 0, plans = 0, runs = 0;
  std::map<std::string, int> reasons;  // of what was skipped
  std::map<std::string, int> models;   // legal pairs of each

  std::string text() const {
    std::string lines = fmt::format(
        "{} pairs of layouts: {} legal with a model, {} not; {} plans proved, {} runs without a "
        "wrong byte\n",
        pairs, legal, skipped, plans, runs);
    for (const auto& [reason, times] : reasons) lines += fmt::format("{:6} x {}\n", times, reason);
    for (const auto& [model, times] : models) lines += fmt::format("{:6} pairs {}\n", times, model);
    return lines;
  }
};

// "s.yaml:4:48: training.tensor: 16 does not divide the 8 groups of heads; use 8"
//   -> "training.tensor: # does not divide the # groups of heads"
std::string kind_of(const std::string& message) {
  std::string kind;
  const std::size_t key = message.find(": ") + 2;
  for (const char c : message.substr(key, message.find(';') - key)) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) kind += c;
    if (digit && (kind.empty() || kind.back() != '#')) kind += '#';
  }
  return kind;
}

std::optional<Scenario> legal_scenario(const RecipeLayouts& recipe, const ModelSpec& model,
                                       Counts& counts) {
  try {
    Scenario scenario = parse_scenario(scenario_of(recipe, model), "recipe.yaml");
    ++counts.legal;
    ++counts.models[model.name];
    return scenario;
  } catch (const LayoutError& error) {
    ++counts.skipped;
    ++counts.reasons[kind_of(error.what())];
    return std::nullopt;
  }
}

// What is run: all classes, ranks and cuts, in few bytes. Several buckets stay several.
Scenario in_small(Scenario scenario, int chunks) {
  const std::int64_t bytes = scenario.refit.unique_bytes();
  scenario.refit = with_short_dims(std::move(scenario.refit));
  const std::int64_t buckets = bytes / scenario.plan.bucket_bytes + 1;
  scenario.plan.bucket_bytes = scenario.refit.unique_bytes() / buckets + 1;
  scenario.plan.chunks = chunks;
  return scenario;
}

Schedule proved_plan(const Scenario& s, const char* strategy) {
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
  const Diagnostics findings = verify(schedule, s.refit);
  INFO((findings.empty() ? "" : findings.front().where + ": " + findings.front().message));
  REQUIRE(findings.empty());
  return schedule;
}

void prove(const Scenario& s, const char* strategy, Counts& counts) {
  CAPTURE(strategy);
  proved_plan(s, strategy);
  ++counts.plans;
}

void run(const Scenario& s, const char* strategy, Counts& counts) {
  CAPTURE(strategy);
  const Schedule schedule = proved_plan(s, strategy);
  ExecuteOptions once;
  once.iterations = 1;
  once.warmup = 0;
  REQUIRE(execute_inproc(schedule, s.refit, s.cluster, once).wrong_bytes == 0);
  ++counts.runs;
}

std::vector<ModelSpec> all_models() {
  std::vector<ModelSpec> models;
  for (const std::string& name : catalog_models()) models.push_back(catalog_model(name));
  return models;
}

struct Size {
  int least_ranks, most_ranks;
};

// Calls each(recipe, model, scenario, counts) for what is legal, and says how much that was.
template <class Each>
Counts each_legal(const Size& size, const Each& each) {
  const std::vector<ModelSpec> models = all_models();
  Counts counts;
  for (const RecipeLayouts& recipe : recipe_layouts()) {
    if (recipe.ranks() < size.least_ranks || recipe.ranks() > size.most_ranks) continue;
    ++counts.pairs;
    CAPTURE(recipe.name());
    for (const ModelSpec& model : models) {
      CAPTURE(model.name);
      if (const auto scenario = legal_scenario(recipe, model, counts))
        each(recipe, model, *scenario, counts);
    }
  }
  WARN(counts.text());
  REQUIRE(counts.pairs > 0);
  REQUIRE(counts.legal + counts.skipped == counts.pairs * static_cast<int>(models.size()));
  return counts;
}

}  // namespace

// Every legal model of every pair is proved at its own size and run in few bytes; what is fewer
// where the ranks are more is strategies.

TEST_CASE("recipes of up to 16 ranks: every model by every strategy, without a wrong byte",
          "[scenarios][recipes]") {
  const Counts counts = each_legal(
      {1, 16}, [&](const RecipeLayouts&, const ModelSpec&, const Scenario& scenario, Counts& c) {
        const Scenario small = in_small(scenario, kFewChunks);
        for (const char* strategy : kStrategies) {
          prove(scenario, strategy, c);
          run(small, strategy, c);
        }
      });
  REQUIRE(counts.plans == 5 * counts.legal);
  REQUIRE(counts.runs == 5 * counts.legal);
  REQUIRE(counts.models.size() == catalog_models().size());
}

TEST_CASE("recipes of 17 to 64 ranks: every model by every strategy, and run by two of them",
          "[scenarios][recipes]") {
  const Counts counts = each_legal(
      {17, 64}, [&](const RecipeLayouts&, const ModelSpec&, const Scenario& scenario, Counts& c) {
        for (const char* strategy : kStrategies) prove(scenario, strategy, c);
        const Scenario small = in_small(scenario, kFewChunks);
        for (const char* strategy : {"reshard", "optimal"}) run(small, strategy, c);
      });
  REQUIRE(counts.plans == 5 * counts.legal);
  REQUIRE(counts.runs == 2 * counts.legal);
  REQUIRE(counts.models.size() == catalog_models().size());
}

// Seconds each by optimal, so that only the recipe's own model is planned by it, and run.
TEST_CASE("recipes of 65 to 128 ranks: every model is proved and run", "[scenarios][recipes]") {
  const Counts counts =
      each_legal({65, 128}, [&](const RecipeLayouts& recipe, const ModelSpec& model,
                                const Scenario& scenario, Counts& c) {
        const bool own = model.name == recipe.model;
        for (const char* strategy : kStrategies) {
          if (own || strategy != std::string("optimal")) prove(scenario, strategy, c);
        }
        run(in_small(scenario, kFewChunks), own ? "optimal" : "reshard", c);
      });
  REQUIRE(counts.plans == 4 * counts.legal + counts.pairs);
  REQUIRE(counts.runs == counts.legal);
}

TEST_CASE("recipes of more than 128 ranks: every model is proved and run", "[scenarios][recipes]") {
  const Counts counts =
      each_legal({129, 1 << 20}, [&](const RecipeLayouts& recipe, const ModelSpec& model,
                                     const Scenario& scenario, Counts& c) {
        const bool own = model.name == recipe.model;
        prove(scenario, own ? "optimal" : "direct", c);
        run(in_small(scenario, kOneChunk), own ? "optimal" : "reshard", c);
      });
  REQUIRE(counts.plans == counts.legal);
  REQUIRE(counts.runs == counts.legal);
}

}  // namespace refit::test
