#include "report/accuracy_page.h"

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/method_order.h"
#include "report/validation_words.h"

using namespace refit;

namespace {

// Published after `published_s`, predicted and left out as given; one scenario of its own.
ValidationRow row(const std::string& id, const std::string& system, double published_s,
                  double predicted_s, double left_out_s) {
  ValidationRow r;
  r.id = id;
  r.system = system;
  r.model = "model of " + id;
  r.hardware = "GB200";
  r.grade = "A";
  r.model_gb = 10;
  r.scenario = system + " | " + id;
  r.layout = id;
  r.published_s = published_s;
  r.predicted_s = predicted_s;
  r.low_s = predicted_s * 0.8;
  r.high_s = predicted_s * 1.25;
  r.left_out_s = left_out_s;
  r.left_out_low_s = left_out_s * 0.8;
  r.left_out_high_s = left_out_s * 1.25;
  r.bound_s = 0.5;
  r.dominant_phase = "nic_efficiency";
  r.phase_s = {{"nic_efficiency", predicted_s / 2}, {"load_tensor", predicted_s / 4}};
  return r;
}

// Errors +10 %, -20 %, +40 %; left out +20 %, -20 %, +50 %.
std::vector<ValidationRow> three_rows() {
  return {row("A", "x", 1, 1.1, 1.2), row("B", "x", 2, 1.6, 1.6), row("C", "y", 1, 1.4, 1.5)};
}

Accuracy sample() {
  Accuracy a;
  a.validation.rows = three_rows();
  a.validation.rows[0].system_out_s = 1.3;
  a.validation.rows[0].hardware_out_s = 0.6;
  a.validation.skipped = {{"S", "train_layout", "is not given"}};
  a.constants = {
      {"fixed", "one refit", "3 s", 1.5, "2 s", "4 s", "10 ms", "2 s", true},
      {"convert_rate", "conversions", "2500 GB/s", {}, "", "", "100 GB/s", "8000 GB/s", false}};
  a.condition = 35.4;
  a.uncalibrated = {"sharded_pull"};
  a.misses = {{"C", "Nobody knows."}};
  a.scale = {{32, 2.12, 2.2}, {2048, {}, 2.4}};
  a.streams = {{"nemo_rl_golden", 2, "about 8 s", 8},
               {"nemo_rl_golden", 4, "no better than two", 4}};
  return a;
}

}  // namespace

TEST_CASE("summary: medians of odd and even numbers of rows", "[report][validation]") {
  const std::vector<ValidationRow> rows = three_rows();
  const ErrorSummary odd = summary_of(rows);
  REQUIRE(odd.rows == 3);
  REQUIRE(odd.median_error == Approx(0.2));     // of 0.1, 0.2, 0.4
  REQUIRE(odd.held_out_median == Approx(0.2));  // of 0.2, 0.2, 0.5
  REQUIRE(odd.worst_held_out == Approx(0.5));
  REQUIRE_FALSE(odd.system_out_median);
  const ErrorSummary even = summary_of({rows[0], rows[2]});
  REQUIRE(even.median_error == Approx(0.25));  // between 0.1 and 0.4
  REQUIRE(summary_of({}).rows == 0);
}

TEST_CASE("summary: rows within 25 %, inside their band and under their bound",
          "[report][validation]") {
  std::vector<ValidationRow> rows = three_rows();
  // Left-out bands: A 0.96 to 1.5 holds 1; B 1.28 to 2 holds 2; C 1.2 to 1.875 does not hold 1.
  ErrorSummary s = summary_of(rows);
  REQUIRE(s.within_25_percent == Approx(2.0 / 3));
  REQUIRE(s.inside_band == Approx(2.0 / 3));
  REQUIRE(s.under_bound == 0);
  rows[1].bound_s = 1.7;  // above the 1.6 that is predicted
  REQUIRE(summary_of(rows).under_bound == 1);
}

TEST_CASE("summary: the rule takes the rate of the system's other scenarios",
          "[report][validation]") {
  // A: B reached 10 GB in 2 s, so 2 s, off by 100 %. B: A reached 1 s, off by 50 %. y has no other.
  const ErrorSummary s = summary_of(three_rows());
  REQUIRE(s.rows_with_rule == 2);
  REQUIRE(s.rule_median.value() == Approx(0.75));
  REQUIRE(s.nearer_than_rule == Approx(1));  // 20 % against 100 %, 20 % against 50 %
  std::vector<ValidationRow> twins = three_rows();
  twins[1].scenario = twins[0].scenario;  // no other scenario any more
  REQUIRE_FALSE(summary_of(twins).rule_median);
}

TEST_CASE("spread: four in five rows are rounded up", "[report][validation]") {
  const ErrorSpread five = spread_of({0.5, 0.1, 0.4, 0.2, 0.3});
  REQUIRE(five.median == 0.3);
  REQUIRE(five.four_in_five == 0.4);  // 4 of 5
  REQUIRE(five.worst == 0.5);
  REQUIRE(spread_of({0.1, 0.2, 0.3, 0.4, 0.5, 0.6}).four_in_five == 0.5);  // 5 of 6
  REQUIRE(spread_of({}).rows == 0);
}

TEST_CASE("order of methods: by the median of each method's rows, on one layout",
          "[report][validation]") {
  // x published after 1 s and 2 s: 1.5 s; y after 1.2 s. Predicted 1.35 s and 1.4 s: the wrong way
  // round.
  std::vector<ValidationRow> rows = three_rows();
  for (ValidationRow& r : rows) r.layout = "one";
  rows[2].published_s = 1.2;
  rows.push_back(row("D", "z", 1, 1, 1));  // alone on its layout
  const std::vector<MethodOrder> orders = method_orders(rows);
  REQUIRE(orders.size() == 1);
  REQUIRE(orders[0].methods.size() == 2);
  REQUIRE(orders[0].methods[0].system == "y");
  REQUIRE(orders[0].methods[1].published_s == Approx(1.5));
  REQUIRE_FALSE(orders[0].right());           // 1.4 s, then 1.35 s
  REQUIRE_FALSE(orders[0].left_out_right());  // 1.5 s, then 1.4 s
  rows[2].predicted_s = 1.3;
  REQUIRE(method_orders(rows)[0].right());
}

TEST_CASE("accuracy page: has every row, skip, constant, miss and series", "[report][validation]") {
  const std::string page = accuracy_page(sample());
  for (const char* part : {
           "| A | x | model of A | 1.00 s | 1.10 s | 880.00 ms - 1.38 s | 500.00 ms | 1.10 | +20 % "
           "| "
           "nic_efficiency 50 % |",
           "| S | train_layout | is not given |",
           "| `fixed` | 3 s | x/ 1.50 | 2 s to 4 s | 10 ms to 2 s | **outside** | one refit |",
           "| `convert_rate` | 2500 GB/s | not fitted | - | 100 GB/s to 8000 GB/s |  | conversions "
           "|",
           "priors included: 35.",
           "**C** (y, model of C, GB200: +50 % left out, +40 % fitted). Nobody knows.",
           "No row calibrates `sharded_pull`",
           // A alone: 1.3 s and 0.6 s for 1 s
           "| its system | 1 | 30.0 % | 30.0 % | 30.0 % | 30.0 % |",
           "| its kind of machine | 1 | 40.0 % | 40.0 % | 40.0 % | 40.0 % |",
           "| 2,048 | - | 2.40 s |",
           "predicted ones are flat within 25 %: 2.20 s to 2.40 s",
           "is predicted **wrong**: 4.00 s and 8.00 s",
           // wire 0.55 s, misc a quarter of 1.1 s, the last quarter latency
           "| A | x | 1.00 s | 1.10 s | 500.00 ms | 2.0 | 0.55 | 0.00 | 0.00 | 0.00 | 0.28 | 0.00 "
           "| 0.28 |",
           "| left out by setting: median error | 20.0 % | 12 % or less | **no** |",
           "expect layouts, models and machines",
       }) {
    CAPTURE(page);
    CHECK(page.find(part) != page.npos);
  }
  REQUIRE(page == accuracy_page(sample()));
}

TEST_CASE("refit.validation/1: has the members that its page promises", "[report][validation]") {
  Validation v;
  v.source = "rows.csv";
  v.network_model = "default";
  v.rows = three_rows();
  v.rows[0].system_out_s = 1.3;
  v.skipped = {{"S", "train_layout", "is not given"}};
  const auto json = nlohmann::json::parse(validation_json(v));
  REQUIRE(json.at("schema") == "refit.validation/1");
  REQUIRE(json.at("source") == "rows.csv");
  REQUIRE(json.at("frozen") == false);
  const auto& first = json.at("rows").at(0);
  REQUIRE(first.at("id") == "A");
  REQUIRE(first.at("published_s") == 1.0);
  REQUIRE(first.at("predicted_s") == 1.1);
  REQUIRE(first.at("low_s") == Approx(0.88));
  REQUIRE(first.at("high_s") == Approx(1.375));
  REQUIRE(first.at("bound_s") == 0.5);
  REQUIRE(first.at("held_out_error") == Approx(0.2));
  REQUIRE(first.at("system_held_out_error") == Approx(0.3));
  REQUIRE_FALSE(json.at("rows").at(1).contains("system_held_out_error"));
  REQUIRE(first.at("dominant_phase") == "nic_efficiency");
  const auto& summary = json.at("summary");
  REQUIRE(summary.at("rows") == 3);
  REQUIRE(summary.at("skipped") == 1);
  REQUIRE(summary.at("median_error") == Approx(0.2));
  REQUIRE(summary.at("held_out_median_error") == Approx(0.2));
  REQUIRE(summary.at("within_25_percent") == Approx(2.0 / 3));
  REQUIRE(summary.at("under_bound") == 0);
  REQUIRE(json.at("skipped").at(0).at("field") == "train_layout");
}
