#include "validation/row_run.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "validation/validate.h"

using namespace refit;

namespace {

// The smallest published rows: 4 GPUs to 4.
PublishedRow row_named(const std::string& id) {
  for (PublishedRow& row : published_rows())
    if (row.id == id) return row;
  FAIL("no row " << id);
  return {};
}

}  // namespace

TEST_CASE("row run: what can't be read, has no time or has no plan is skipped, the rest is planned",
          "[validation]") {
  std::vector<PublishedRow> rows(5, row_named("VE-10"));
  rows[1].id = "number";
  rows[1].train_gpus = {};
  rows[1].unreadable = {{"train_gpus", "'8 to 16' is not right"}};
  rows[2].id = "untimed";
  rows[2].time_s = {};
  rows[3].id = "zero";
  rows[3].time_s = 0;
  rows[4].id = "delta";
  rows[4].method = "sparse delta";
  std::vector<std::string> said;
  const RowRuns found = plan_rows(rows, [&](const std::string& text) { said.push_back(text); });
  REQUIRE(found.runs.size() == 1);
  REQUIRE(found.runs[0].row.id == "VE-10");
  REQUIRE(found.runs[0].bound_s > 0);
  std::vector<std::string> skipped;
  for (const SkippedRow& row : found.skipped) skipped.push_back(row.id + ": " + row.field);
  REQUIRE(skipped == std::vector<std::string>{"number: train_gpus", "untimed: time_s",
                                              "zero: time_s", "delta: method"});
  REQUIRE(said.size() == 5);
  REQUIRE(said.back() == "planning row 5 of 5");
}

TEST_CASE("row run: a question that can't be planned is a skip with the message", "[validation]") {
  const PublishedRow row = row_named("VE-10");
  RowCase question = std::get<RowCase>(row_case(row));
  REQUIRE(std::holds_alternative<RowRun>(plan_question(row, question)));
  question.scenario_yaml += "plan:\n  streams: 65\n";
  const auto refused = plan_question(row, question);
  REQUIRE(std::holds_alternative<RowSkip>(refused));
  REQUIRE(std::get<RowSkip>(refused).field == "train_layout");
  REQUIRE_THAT(std::get<RowSkip>(refused).reason, Catch::Contains("plan.streams: "));
}

TEST_CASE("validate: workers tell of skips and of each row", "[validation]") {
  std::vector<PublishedRow> rows(2, row_named("VE-10"));
  rows[1].id = "range";
  rows[1].unreadable = {{"train_gpus", "'8 to 16'\nis not right"}};
  std::vector<std::string> said;
  const Validation v = validate(rows, catalog_network_model("default"), {},
                                [&](const std::string& text) { said.push_back(text); });
  REQUIRE(v.rows.size() == 1);
  REQUIRE(v.skipped.size() == 1);
  REQUIRE(v.skipped[0].id == "range");
  REQUIRE(v.skipped[0].field == "train_gpus");
  REQUIRE(v.skipped[0].reason == "'8 to 16'\nis not right");
  REQUIRE(said == std::vector<std::string>{"planned and predicted 1 of 2 rows",
                                           "planned and predicted 2 of 2 rows"});
}

TEST_CASE(
    "validate: a row that is in no fold is left out by its own constants, the same twice over",
    "[validation]") {
  const std::vector<PublishedRow> rows{row_named("VE-10"), row_named("VE-11")};
  const NetworkModel model = catalog_network_model("default");
  std::vector<Fold> folds;
  for (const Fold& fold : shipped_folds())
    if (fold.left_out == keys_of(rows[0], "verl_broadcast").scenario) folds.push_back(fold);
  REQUIRE(folds.size() == 1);
  const Validation first = validate(rows, model, folds);
  REQUIRE(first.rows.size() == 2);
  REQUIRE(first.rows[0].left_out_s != first.rows[0].predicted_s);
  REQUIRE(first.rows[1].left_out_s == first.rows[1].predicted_s);
  REQUIRE_FALSE(first.rows[0].system_out_s);
  REQUIRE(first.rows[0].layout == first.rows[1].layout);
  REQUIRE(first.rows[0].scenario != first.rows[1].scenario);
  for (const ValidationRow& row : first.rows) {
    CAPTURE(row.id);
    REQUIRE(row.low_s <= row.predicted_s);
    REQUIRE(row.predicted_s <= row.high_s);
    REQUIRE(row.bound_s <= row.predicted_s);
    REQUIRE(row.phase_s.contains(row.dominant_phase));
  }
  const std::vector<std::string>& assumptions = first.rows[0].assumptions;
  REQUIRE(assumptions == std::get<RowCase>(row_case(rows[0])).assumptions);
  const Validation second = validate(rows, model, folds);
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(second.rows[i].predicted_s == first.rows[i].predicted_s);
    REQUIRE(second.rows[i].left_out_s == first.rows[i].left_out_s);
    REQUIRE(second.rows[i].phase_s == first.rows[i].phase_s);
  }
}
