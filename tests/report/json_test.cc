#include "report/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/report/sample.h"

namespace refit {
namespace {

TEST_CASE("the report's JSON names its schema and has a member per number", "[report][json]") {
  const nlohmann::json document = nlohmann::json::parse(simulation_json(sample_report()));
  CHECK(document.at("schema") == "refit.prediction/1");
  CHECK(document.at("scenario") == "sample");
  CHECK(document.at("network_model") == "default");
  REQUIRE(document.at("strategies").size() == 2);
  const nlohmann::json& row = document["strategies"][0];
  CHECK(row.at("strategy") == "direct");
  CHECK(row.at("unique_bytes") == 10'000'000'000);
  CHECK(row.at("payload_bytes") == 40'000'000'000);
  CHECK(row.at("logical_bytes") == 10'000'000'000);
  CHECK(row.at("network_bytes") == 40'000'000'000);
  CHECK(row.at("nvlink_bytes") == 20'000'000'000);
  CHECK(row.at("bound_s") == 0.5);
  CHECK(row.at("predicted_s") == 0.75);
  CHECK(row.at("busiest").at("name") == "node 1 nic 0 in");
  CHECK(row.at("busiest").at("kind") == "nic");
  CHECK(row.at("busiest").at("utilisation") == 0.6667);
  REQUIRE(row.at("phases").size() == 2);
  CHECK(row["phases"][1].at("name") == "load");
  CHECK(row["phases"][1].at("start_s") == 0.7000000000000001);
}

TEST_CASE("conversions are members of the JSON, and absent if there are none", "[report][json]") {
  SimulationReport report = sample_report();
  CHECK_FALSE(nlohmann::json::parse(simulation_json(report)).contains("conversions"));
  report.conversions = {
      {ValueOp::negexp, EdgeSide::destination, "A_log to A = -exp(A_log) in f32", 23, 46, 92}};
  const nlohmann::json document = nlohmann::json::parse(simulation_json(report));
  REQUIRE(document.at("conversions").size() == 1);
  const nlohmann::json& row = document["conversions"][0];
  CHECK(row.at("op") == "negexp");
  CHECK(row.at("side") == "destination");
  CHECK(row.at("words") == "A_log to A = -exp(A_log) in f32");
  CHECK(row.at("tensors") == 23);
  CHECK(row.at("read_bytes") == 46);
  CHECK(row.at("written_bytes") == 92);
}

TEST_CASE("the fullest GPU is a member of each row", "[report][json]") {
  StrategyResult row = sample_row("direct", 4);
  row.memory_rank = Rank(5);
  row.memory_bytes = 90e9;
  row.memory_dominant = "staging";
  row.memory_dominant_bytes = 60e9;
  row.gpu_memory_bytes = 80e9;
  row.memory_over = Rank(3);
  const nlohmann::json memory = nlohmann::json::parse(to_json_text(row)).at("memory");
  CHECK(memory == nlohmann::json({{"rank", 5},
                                  {"peak_bytes", 90'000'000'000},
                                  {"dominant", "staging"},
                                  {"dominant_bytes", 60'000'000'000},
                                  {"gpu_bytes", 80'000'000'000},
                                  {"first_rank_over", 3}}));
  const StrategyResult back = parse_strategy_result(to_json_text(row));
  CHECK(back.memory_rank == Rank(5));
  CHECK(back.memory_bytes == 90e9);
  CHECK(back.memory_dominant == "staging");
  CHECK(back.memory_dominant_bytes == 60e9);
  CHECK(back.gpu_memory_bytes == 80e9);
  CHECK(back.memory_over == Rank(3));
  row.memory_over.reset();
  CHECK(nlohmann::json::parse(to_json_text(row)).at("memory").at("first_rank_over").is_null());
  CHECK_FALSE(parse_strategy_result(to_json_text(row)).memory_over);
}

TEST_CASE("classes of memory are members if they were asked for, and read back", "[report][json]") {
  StrategyResult row = sample_row("direct", 4);
  CHECK_FALSE(nlohmann::json::parse(to_json_text(row)).at("memory").contains("by_class"));
  CHECK_FALSE(parse_strategy_result(to_json_text(row)).memory_by_class);

  // {source shards, …, staging, communicators, baselines, host copies}
  row.memory_by_class = {0.5,
                         {{{Rank(0), Rank(1), Rank(4)},
                           Rank(1),
                           {{8, 0, 0, 0, 3.5, 0, 0, 7}, 0.25},
                           80e9,
                           {{8, 0, 0, 0, 3.5, 0, 0, 7}, {8, 0, 0, 0, 0, 0, 0, 0}}}},
                         2};
  const nlohmann::json memory =
      nlohmann::json::parse(to_json_text(row)).at("memory").at("by_class");
  CHECK(memory.at("step_s") == 0.5);
  CHECK(memory.at("left_out") == 2);
  REQUIRE(memory.at("classes").size() == 1);
  CHECK(memory["classes"][0] ==
        nlohmann::json::parse(R"({"ranks": [[0, 1], [4, 4]], "fullest": 1, "peak_bytes": 11.5,
          "peak_s": 0.25, "dominant": "source shards", "gpu_bytes": 80000000000,
          "bytes": {"source shards": 8, "staging": 3.5, "host copies": 7},
          "curve": {"source shards": [8, 8], "staging": [3.5, 0], "host copies": [7, 0]}})"));

  const StrategyResult back = parse_strategy_result(to_json_text(row));
  REQUIRE(back.memory_by_class);
  const MemoryClass& c = back.memory_by_class->classes.at(0);
  CHECK(back.memory_by_class->left_out == 2);
  CHECK(c.ranks == row.memory_by_class->classes[0].ranks);
  CHECK(c.fullest == Rank(1));
  CHECK(c.peak.bytes == row.memory_by_class->classes[0].peak.bytes);
  CHECK(c.peak.when_s == 0.25);
  CHECK(c.curve == row.memory_by_class->classes[0].curve);
}

TEST_CASE("the certificate is a member of each row and reads back", "[report][json]") {
  StrategyResult row = sample_row("optimal", 2);
  const nlohmann::json json = nlohmann::json::parse(to_json_text(row));
  CHECK(json.at("no_relay_bound_s") == 0.8);
  CHECK(json.at("certificate") == nlohmann::json({{"plan", "0123456789abcdef"},
                                                  {"wire_s", 0.55},
                                                  {"ratio", 0.55 / 0.5},
                                                  {"latency_dominates", false},
                                                  {"latency_s", 5e-6},
                                                  {"levels", 3},
                                                  {"chunk_bytes", 2'000'000},
                                                  {"relay_depth", 4},
                                                  {"fill_s", 0.0002}}));
  const Certificate back = parse_strategy_result(to_json_text(row)).certificate;
  CHECK(back.bound_s == 0.5);
  CHECK(back.no_relay_bound_s == 0.8);
  CHECK(back.bound_by == "domain 1 ingress");
  CHECK(back.wire_s == 0.55);
  CHECK(back.latency_s == 5e-6);
  CHECK(back.levels == 3);
  CHECK(back.chunk_bytes == 2'000'000);
  CHECK(back.relay_depth == 4);
  CHECK(back.fill_s == 0.0002);
  CHECK(back.plan == "0123456789abcdef");

  // 400 x 1 ms x 3 is more than the bound of 0.5 s.
  row.certificate.latency_s = 1e-3;
  row.certificate.no_relay_bound_s.reset();
  const nlohmann::json late = nlohmann::json::parse(to_json_text(row));
  CHECK(late.at("no_relay_bound_s").is_null());
  CHECK(late.at("certificate").at("ratio").is_null());
  CHECK(late.at("certificate").at("latency_dominates") == true);
  CHECK_FALSE(parse_strategy_result(to_json_text(row)).certificate.no_relay_bound_s);
}

TEST_CASE("what was chosen is a member of the JSON if it was asked for", "[report][json]") {
  SimulationReport report = sample_report();
  CHECK_FALSE(nlohmann::json::parse(simulation_json(report)).contains("chosen"));
  report.chosen = {"reshard", "because\nof this"};
  CHECK(nlohmann::json::parse(simulation_json(report)).at("chosen") ==
        nlohmann::json({{"strategy", "reshard"}, {"reason", "because\nof this"}}));
}

TEST_CASE("whole numbers are printed whole, others to the last bit", "[report][json]") {
  const std::string text = simulation_json(sample_report());
  CHECK(text.find("\"network_bytes\": 40000000000,") != std::string::npos);
  CHECK(text.find("\"end_s\": 0.7000000000000001,") != std::string::npos);
}

TEST_CASE("a row that goes through text comes back to the last bit", "[report][json]") {
  StrategyResult row = sample_row("reshard", 1.0 / 3);
  row.predicted_s = 0.1 + 0.2;
  row.nvlink_bytes = 1e300;
  const std::string text = to_json_text(row);
  const StrategyResult back = parse_strategy_result(text);
  CHECK(to_json_text(back) == text);
  CHECK(back.predicted_s == row.predicted_s);
  CHECK(back.copies == row.copies);
  CHECK(back.nvlink_bytes == row.nvlink_bytes);
  CHECK(back.busiest.kind == LinkKind::nic);
  CHECK(back.network_model == "default");
  CHECK(back.solver == "incremental");
  CHECK(back.ops == 12);
}

}  // namespace
}  // namespace refit
