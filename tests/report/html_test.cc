#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/html.h"
#include "report/json.h"
#include "report/sweep_page.h"
#include "tests/report/sample.h"

namespace refit {
namespace {

HtmlReport sample_page() {
  HtmlReport page;
  page.simulation = sample_report();
  page.question = "How long?";
  page.plan_pictures = {R"({"strategy":"direct"})", R"({"strategy":"reshard"})"};
  page.sensitivities = {{}, {{"nic_efficiency", "+10 %", -0.05}}};
  page.scenario_text = "scenario: sample\n";
  page.version = "1.2.3";
  return page;
}

Refit no_refit() {
  Refit refit;
  refit.ranks = 4;
  refit.sources = {Rank(0), Rank(1)};
  refit.destinations = {Rank(2), Rank(3)};
  return refit;
}

const Cluster& machines() {
  static const Cluster cluster{two_gpu_nodes(2)};
  return cluster;
}

std::string page_of(const HtmlReport& report) { return html_page(report, no_refit(), machines()); }

// The text of the element that holds the data.
std::string data_in(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

TEST_CASE("page: what a scenario is called can't end an element or start one", "[report][page]") {
  HtmlReport report = sample_page();
  const std::string evil = "</script><script>alert(1)</script><!-- \" ' & @@data@@";
  report.simulation.scenario = evil;
  report.question = evil;
  report.scenario_text = evil;
  report.plan_pictures[0] = R"({"strategy":"</script><script>"})";
  const std::string page = page_of(report);
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- &quot; &#39; &amp; "
                  "@@data@@</h1>") != std::string::npos);
  // It is all there, as data.
  const auto data = nlohmann::json::parse(data_in(page));
  CHECK(data["scenario_text"] == evil);
  CHECK(data["prediction"]["scenario"] == evil);
  CHECK(data["plans"][0]["strategy"] == "</script><script>");
}

TEST_CASE("page: bytes that are no UTF-8 leave valid data", "[report][page]") {
  HtmlReport report = sample_page();
  report.scenario_text = "scenario: \xff\xfe\n";
  CHECK_NOTHROW(nlohmann::json::parse(data_in(page_of(report))));
}

TEST_CASE("page: equal reports give equal bytes", "[report][page]") {
  CHECK(page_of(sample_page()) == page_of(sample_page()));
}

TEST_CASE("page: its prediction is the document that simulate prints", "[report][page]") {
  const HtmlReport report = sample_page();
  const auto data = nlohmann::ordered_json::parse(data_in(page_of(report)));
  CHECK(data["prediction"] == nlohmann::ordered_json::parse(simulation_json(report.simulation)));
  CHECK(data["schema"] == "refit.page/1");
  CHECK(data["machines"]["sources"].dump() == "[[0,1]]");
  CHECK(data["machines"]["domains"].dump() == "[[0,2,0],[2,2,1]]");
  CHECK(data["sensitivities"][1][0]["delta_s"] == -0.05);
}

TEST_CASE("page: asks no other place for anything", "[report][page]") {
  const std::string page = page_of(sample_page());
  CHECK(page.find("default-src 'none'") != std::string::npos);
  for (const char* word :
       {" src=", "@import", "url(http", "url(\"", "<link rel=\"style", "fetch("}) {
    CAPTURE(word);
    const std::size_t own = page.find("\"use strict\";\n// Numbers as");  // behind the library
    REQUIRE(own != std::string::npos);
    CHECK(page.find(word, own) == std::string::npos);
    CHECK(page.substr(0, page.find("<script type")).find(word) == std::string::npos);
  }
  CHECK(page.find("Redistribution and use in source and binary forms") != std::string::npos);
  CHECK(page.find("refit 1.2.3") != std::string::npos);
}

TEST_CASE("page: the answer is one line with band, bound and what sets them", "[report][page]") {
  StrategyResult row = sample_row("optimal", 1);
  CHECK(answer_words(row) ==
        "optimal: 750.00 ms, 1.50 x its bound of 500.00 ms; the bound is set by domain 1 ingress");
  row.low_s = 0.6;
  row.high_s = 0.9;
  row.seconds_by_constant = {{"fixed", 0.1}, {"nic_efficiency", 0.65}};
  CHECK(
      answer_words(row) ==
      "optimal: 750.00 ms (600.00 ms to 900.00 ms, 80 % band), 1.50 x its bound of 500.00 ms; the "
      "bound is set by domain 1 ingress, the prediction most by nic_efficiency (650.00 ms)");
}

SweepRow sweep_row(std::int64_t point, const std::string& nic, double prediction_s) {
  SweepRow row;
  row.point = point;
  row.values = {nic};
  row.strategy = "reshard";
  row.outcome = PointOutcome::predicted;
  row.bound_s = 0.5;
  row.prediction_s = prediction_s;
  return row;
}

SweepTable sample_sweep() {
  SweepTable table{"abc", 4, {"cluster.nic_bandwidth"}, {}};
  table.rows = {sweep_row(0, "200 Gbit/s", 2), sweep_row(1, "400 Gbit/s", 1.23456789),
                sweep_row(2, "400 Gbit/s", 1)};
  table.rows[1].low_s = 1.1;
  table.rows[1].high_s = 1.4;
  table.rows[2].over = "rank 3: memory";
  SweepRow infeasible;
  infeasible.point = 3;
  infeasible.values = {"</script>"};
  infeasible.reason = "</script><script>";
  table.rows.push_back(infeasible);
  return table;
}

TEST_CASE("sweep page: the answer is the fastest point that fits", "[report][page]") {
  SweepTable table = sample_sweep();
  CHECK(sweep_answer(table) ==
        "The fastest that fits is point 1, 1.23 s by reshard (1.10 s to 1.40 s, 80 % band), bound "
        "500.00 ms: cluster.nic_bandwidth 400 Gbit/s");
  table.rows.erase(table.rows.begin(), table.rows.begin() + 2);
  CHECK(sweep_answer(table) == "No point has a plan that fits.");
}

TEST_CASE("sweep page: has the points that were predicted, and why others were not",
          "[report][page]") {
  const std::string page = sweep_page("</title>", sample_sweep(), "1.2.3");
  CHECK(page.find("<h1>&lt;/title&gt;</h1>") != std::string::npos);
  CHECK(page.find("4 points: 3 predicted, 1 infeasible; 1 of the predicted need more") !=
        std::string::npos);
  const auto data = nlohmann::json::parse(data_in(page));
  CHECK(data["point"].dump() == "[0,1,2]");
  CHECK(data["prediction_s"].dump() == "[2,1.23457,1]");
  CHECK(data["low_s"].dump() == "[null,1.1,null]");
  CHECK(data["fields"][0].dump() ==
        R"({"name":"cluster.nic_bandwidth","of":[0,1,1],"words":["200 Gbit/s","400 Gbit/s"]})");
  CHECK(data["over"].dump() == R"({"of":[0,0,1],"words":["","rank 3: memory"]})");
  CHECK(data["reasons"][0]["reason"] == "</script><script>");
}

TEST_CASE("sweep page: of more points than can be drawn it has the fastest", "[report][page]") {
  SweepTable table{"abc", 30'001, {"cluster.nic_bandwidth"}, {}};
  for (int i = 0; i < 30'001; ++i) table.rows.push_back(sweep_row(i, "200 Gbit/s", 30'001 - i));
  const std::string page = sweep_page("large", table, "1.2.3");
  CHECK(page.size() < 5'000'000);
  CHECK(page.find("The page has the 30,000 fastest.") != std::string::npos);
  const auto data = nlohmann::json::parse(data_in(page));
  REQUIRE(data["point"].size() == 30'000);
  CHECK(data["point"][0] == 1);  // point 0 is the slowest
}

}  // namespace
}  // namespace refit
