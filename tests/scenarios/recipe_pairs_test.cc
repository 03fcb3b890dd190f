// Every model of the catalog in every pair of layouts that NeMo RL's example recipes have: planned
// by every strategy and proved, and where the ranks are few also run on real memory.
#include <catch2/catch.hpp>

#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "executor/execute.h"
#include "models/import/hf_config.h"
#include "models/select_rows.h"
#include "scenarios/layout_error.h"
#include "scenarios/scale.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"
#include "tests/support/recipe_layouts.h"

namespace refit::test {
namespace {

const char* const kStrategies[] = {"direct", "reshard", "hybrid", "gather_broadcast", "optimal"};

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

// Layers of a class are alike: one is as good as ninety for a run, and fits a small machine.
Scenario in_small(Scenario scenario) {
  const IntervalSet first = Interval{0, 1};
  for (TensorClass& c : scenario.refit.classes) {
    c.members.resize(1);
    c.source = select_rows(c.source, 0, first);
    c.destination = select_rows(c.destination, 0, first);
    c.checkpoint_tensors = 1;
  }
  return scaled(scenario, 1.0 / 100000);
}

void prove(const Scenario& s, const char* strategy, Counts& counts) {
  CAPTURE(strategy);
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
  const Diagnostics findings = verify(schedule, s.refit);
  INFO((findings.empty() ? "" : findings.front().where + ": " + findings.front().message));
  REQUIRE(findings.empty());
  ++counts.plans;
}

void run(const Scenario& s, const char* strategy, Counts& counts) {
  CAPTURE(strategy);
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
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

const ModelSpec& named(const std::vector<ModelSpec>& models, const std::string& name) {
  for (const ModelSpec& model : models) {
    if (model.name == name) return model;
  }
  FAIL("the catalog has no " << name);
  return models.front();
}

struct Size {
  int least_ranks, most_ranks;
};

template <class Each>
Counts each_pair(const Size& size, const Each& each) {
  Counts counts;
  for (const RecipeLayouts& recipe : recipe_layouts()) {
    if (recipe.ranks() < size.least_ranks || recipe.ranks() > size.most_ranks) continue;
    ++counts.pairs;
    CAPTURE(recipe.name());
    each(recipe, counts);
  }
  WARN(counts.text());
  return counts;
}

}  // namespace

TEST_CASE("recipes of up to 16 ranks: every model is planned, proved and run without a wrong byte",
          "[scenarios][recipes]") {
  const std::vector<ModelSpec> models = all_models();
  const Counts counts = each_pair({1, 16}, [&](const RecipeLayouts& recipe, Counts& c) {
    for (const ModelSpec& model : models) {
      CAPTURE(model.name);
      const auto scenario = legal_scenario(recipe, model, c);
      if (!scenario) continue;
      for (const char* strategy : kStrategies) prove(*scenario, strategy, c);
      const Scenario small = in_small(*scenario);
      for (const char* strategy : {"reshard", "optimal"}) run(small, strategy, c);
    }
  });
  REQUIRE(counts.legal + counts.skipped == counts.pairs * static_cast<int>(models.size()));
  REQUIRE(counts.plans == 5 * counts.legal);
  REQUIRE(counts.runs == 2 * counts.legal);
  REQUIRE(counts.models.size() == models.size());
}

TEST_CASE("recipes of 17 to 64 ranks: every model is planned and proved", "[scenarios][recipes]") {
  const std::vector<ModelSpec> models = all_models();
  const Counts counts = each_pair({17, 64}, [&](const RecipeLayouts& recipe, Counts& c) {
    for (const ModelSpec& model : models) {
      CAPTURE(model.name);
      const auto scenario = legal_scenario(recipe, model, c);
      if (!scenario) continue;
      for (const char* strategy : kStrategies) prove(*scenario, strategy, c);
    }
  });
  REQUIRE(counts.legal + counts.skipped == counts.pairs * static_cast<int>(models.size()));
  REQUIRE(counts.plans == 5 * counts.legal);
  REQUIRE(counts.models.size() == models.size());
}

// Seconds each by optimal, so only the recipe's own model takes it.
TEST_CASE("recipes of 65 to 128 ranks: every model is planned and proved", "[scenarios][recipes]") {
  const std::vector<ModelSpec> models = all_models();
  const Counts counts = each_pair({65, 128}, [&](const RecipeLayouts& recipe, Counts& c) {
    int own = 0;
    for (const ModelSpec& model : models) {
      CAPTURE(model.name);
      const auto scenario = legal_scenario(recipe, model, c);
      if (!scenario) continue;
      for (const char* strategy : kStrategies) {
        const bool is_own = model.name == recipe.model;
        if (strategy == std::string("optimal") && !is_own) continue;
        prove(*scenario, strategy, c);
        own += is_own ? 1 : 0;
      }
    }
    REQUIRE(own == 5);
  });
  REQUIRE(counts.pairs > 0);
  REQUIRE(counts.legal + counts.skipped == counts.pairs * static_cast<int>(models.size()));
  REQUIRE(counts.plans == 4 * counts.legal + counts.pairs);
}

TEST_CASE("recipes of more than 128 ranks: their own family is planned and proved",
          "[scenarios][recipes]") {
  const std::vector<ModelSpec> models = all_models();
  const Counts counts = each_pair({129, 1 << 20}, [&](const RecipeLayouts& recipe, Counts& c) {
    const ModelSpec& own = named(models, recipe.model);
    for (const ModelSpec& model : models) {
      if (model.architecture != own.architecture) continue;
      CAPTURE(model.name);
      const auto scenario = legal_scenario(recipe, model, c);
      if (!scenario) continue;
      prove(*scenario, "direct", c);
      if (&model == &own) prove(*scenario, "optimal", c);
    }
  });
  REQUIRE(counts.pairs > 0);
  // Every recipe's own model was planned twice.
  REQUIRE(counts.plans == counts.legal + counts.pairs);
}

}  // namespace refit::test
