#include "validation/accuracy.h"

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "planner/systems.h"
#include "sim/network_parameters.h"
#include "validation/misses.h"

using namespace refit;

namespace {

NetworkModel shipped() { return catalog_network_model("default"); }

template <class Work>
std::string complaint(ErrorCode code, Work work) {
  try {
    work();
  } catch (const Error& error) {
    REQUIRE(error.code() == code);
    return error.what();
  }
  FAIL("no error");
  return "";
}

// Off by these shares with their scenario left out; published after 1 s.
Validation with_errors(const std::vector<std::pair<std::string, double>>& errors) {
  Validation v;
  for (const auto& [id, error] : errors) {
    ValidationRow row;
    row.id = id;
    row.published_s = 1;
    row.left_out_s = 1 + error;
    v.rows.push_back(row);
  }
  return v;
}

}  // namespace

TEST_CASE(
    "folds: those that come with the program are the default model's, one for each key of a row",
    "[validation]") {
  const NetworkModel model = shipped();
  REQUIRE(model.uncertainty);
  std::set<std::string> scenarios, expected;
  for (const Fold& fold : shipped_folds()) {
    REQUIRE(fold.values.size() == model.uncertainty->parameters.size());
    if (fold.kind == Fold::Kind::scenario) scenarios.insert(fold.left_out);
  }
  for (const PublishedRow& row : published_rows()) {
    const auto found = row_case(row);
    const auto* question = std::get_if<RowCase>(&found);
    if (question && !question->own_network)
      expected.insert(question->system + " | " + layout_of(row));
  }
  REQUIRE(scenarios == expected);
}

TEST_CASE("folds: those of other constants are refused", "[validation]") {
  REQUIRE(
      complaint(ErrorCode::bad_input,
                [] { read_folds("parameters: [fixed]\nfolds: []\n", "folds.yaml", shipped()); }) ==
      "folds.yaml:1:13: parameters: not the constants that were fitted for network model default; "
      "let one run of 'refit calibrate --folds' write both files");
}

TEST_CASE("systems: calibrated are those with a published row in the fit", "[validation]") {
  std::set<std::string> with_row;
  for (const PublishedRow& row : published_rows()) {
    const auto found = row_case(row);
    const auto* question = std::get_if<RowCase>(&found);
    if (question && !question->own_network) with_row.insert(question->system);
  }
  for (const System& system : systems()) {
    CAPTURE(system.name);
    REQUIRE(system.calibrated == with_row.contains(std::string(system.name)));
  }
}

TEST_CASE("constants: one outside of what is plausible is told", "[validation]") {
  NetworkModel model = shipped();
  const std::size_t fixed = network_parameter("fixed");  // plausible from 10 ms to 2 s
  model.fixed_s = 3;
  model.uncertainty = NetworkModel::Uncertainty{{fixed}, {0.25}, 0.1};
  // exp(sqrt(0.25)) = 1.6487
  const std::vector<Fold> folds{{Fold::Kind::scenario, "a", {2.5}},
                                {Fold::Kind::scenario, "b", {3.5}},
                                {Fold::Kind::system, "c", {9}}};
  const std::vector<ConstantLine> lines = constant_lines(model, folds);
  REQUIRE(lines.size() == network_parameters().size());
  const ConstantLine& line = lines[fixed];
  REQUIRE(line.key == "fixed");
  REQUIRE(line.value == "3 s");
  REQUIRE(line.sigma.value() == Approx(1.6487).epsilon(1e-4));
  REQUIRE(line.low == "2.5 s");
  REQUIRE(line.high == "3.5 s");
  REQUIRE(line.plausible_high == "2 s");
  REQUIRE(line.outside);
  REQUIRE_FALSE(lines[network_parameter("convert_rate")].sigma);
}

TEST_CASE("condition number: of a covariance that is diagonal, the root of its extremes' ratio",
          "[validation]") {
  // sqrt(4 / 0.01) = 20
  REQUIRE(condition_of({4, 0, 0, 0.01}) == Approx(20));
}

TEST_CASE("misses: each has a paragraph, and each paragraph a miss", "[validation]") {
  const Validation v = with_errors({{"A", 0.1}, {"B", -0.3}, {"C", 0.26}});
  REQUIRE_NOTHROW(require_explained(v, {{"B", "why"}, {"C", "why"}}));
  const auto said = [&](const Misses& misses) {
    return complaint(ErrorCode::check_failed, [&] { require_explained(v, misses); });
  };
  REQUIRE(said({{"B", "why"}}) ==
          "misses: C is off by +26.0 % left out; say why in validation/data/misses.yaml");
  REQUIRE(said({{"A", "why"}, {"B", "why"}, {"C", "why"}}) ==
          "misses: A is within 25 % now (+10.0 % left out); take its paragraph out of "
          "validation/data/misses.yaml");
  REQUIRE(said({{"B", "why"}, {"C", "why"}, {"D", "why"}}) ==
          "misses: D is no predicted row; take its paragraph out of validation/data/misses.yaml");
  REQUIRE(complaint(ErrorCode::bad_input, [] { read_misses("B: ''\n", "m.yaml"); }) ==
          "m.yaml:1:4: B: expected a paragraph on why the prediction is off");
}
