#include "validation/row_case.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "scenarios/scenario.h"

using namespace refit;

namespace {

// Every row that the program carries: the preset it becomes, or the column that is missing. Seven
// tables of NeMo RL and the 2.4 T article give no layout; Perplexity's engine is its own.
const std::map<std::string, std::string> kExpected = {
    {"NV-01", "nemo_rl_packed"},        {"NV-02", "nemo_rl_reshard"},
    {"NV-03", "nemo_rl_packed"},        {"NV-04", "nemo_rl_reshard"},
    {"NV-05", "nemo_rl_packed"},        {"NV-06", "nemo_rl_reshard"},
    {"NV-07", "nemo_rl_packed"},        {"NV-08", "nemo_rl_reshard"},
    {"NV-09", "skip train_layout"},     {"M2N-01", "m2n_hierarchical"},
    {"M2N-02", "m2n_direct"},           {"M2N-03", "m2n_hierarchical"},
    {"M2N-04", "m2n_direct"},           {"NR-01", "nemo_rl_reshard"},
    {"NR-02", "nemo_rl_reshard"},       {"NR-03", "nemo_rl_reshard"},
    {"NR-04", "nemo_rl_reshard"},       {"NR-05", "nemo_rl_reshard"},
    {"NR-06", "nemo_rl_reshard"},       {"NR-07", "nemo_rl_reshard"},
    {"NR-20", "nemo_rl_reshard"},       {"NR-22", "nemo_rl_reshard"},
    {"NR-23", "nemo_rl_reshard"},       {"NR-35", "nemo_rl_golden"},
    {"NR-38", "nemo_rl_golden"},        {"NR-39", "nemo_rl_golden"},
    {"NR-11", "nemo_rl_reshard"},       {"NR-12", "nemo_rl_reshard"},
    {"NR-40", "skip train_layout"},     {"NR-41", "skip train_layout"},
    {"NR-42", "skip train_layout"},     {"NR-43", "skip train_layout"},
    {"NR-50", "skip train_layout"},     {"NR-51", "skip train_layout"},
    {"NR-52", "skip train_layout"},     {"NR-53", "skip train_layout"},
    {"NX-01", "nemo_rl_nixl"},          {"NX-02", "nemo_rl_packed"},
    {"NX-03", "nemo_rl_nixl"},          {"NX-04", "nemo_rl_packed"},
    {"NX-05", "nemo_rl_nixl_full"},     {"SC-0032", "nemo_rl_packed"},
    {"SC-0064", "nemo_rl_packed"},      {"SC-0128", "nemo_rl_packed"},
    {"SC-0256", "nemo_rl_packed"},      {"SD-01", "nemo_rl_sparse_s3"},
    {"SD-02", "nemo_rl_sparse_s3"},     {"SD-03", "nemo_rl_sparse_zmq"},
    {"SD-04", "nemo_rl_sparse_zmq"},    {"DC-01", "nemo_dcr_full"},
    {"DC-02", "nemo_dcr_full"},         {"DC-03", "nemo_dcr_object_store"},
    {"DC-04", "nemo_dcr_object_store"}, {"DC-05", "nemo_dcr_relay_tree"},
    {"DC-06", "nemo_dcr_relay_tree"},   {"MX-04", "one_root_broadcast"},
    {"PX-01", "skip infer_layout"},     {"MI-4-bcast", "miles_broadcast"},
    {"MI-4-p2p", "miles_p2p"},          {"MI-6-bcast", "miles_broadcast"},
    {"MI-6-p2p", "miles_p2p"},          {"VE-10", "verl_broadcast"},
    {"VE-11", "verl_relays"},           {"VE-12", "verl_broadcast"},
    {"VE-13", "verl_relays"},
};

PublishedRow row_named(const std::string& id) {
  for (PublishedRow& row : published_rows()) {
    if (row.id == id) return row;
  }
  FAIL("no row " << id);
  return {};
}

RowCase case_of(const PublishedRow& row) {
  auto found = row_case(row);
  if (const auto* skip = std::get_if<RowSkip>(&found)) FAIL(skip->field << ": " << skip->reason);
  return std::get<RowCase>(std::move(found));
}

std::string skip_of(const PublishedRow& row) {
  const auto found = row_case(row);
  return std::holds_alternative<RowSkip>(found) ? std::get<RowSkip>(found).field : "";
}

bool says(const RowCase& found, const std::string& words) {
  return std::any_of(found.assumptions.begin(), found.assumptions.end(),
                     [&](const std::string& line) { return line.find(words) != line.npos; });
}

}  // namespace

TEST_CASE("row case: every published row is a case or misses the column that it misses",
          "[validation]") {
  const auto rows = published_rows();
  REQUIRE(rows.size() == kExpected.size());
  for (const PublishedRow& row : rows) {
    const auto found = row_case(row);
    const auto* skip = std::get_if<RowSkip>(&found);
    const std::string is = skip ? "skip " + skip->field : std::get<RowCase>(found).system;
    CAPTURE(row.id, skip ? skip->reason : "");
    CHECK(is == kExpected.at(row.id));
  }
}

TEST_CASE("row case: scenarios have the row's GPUs and bytes and carry the assumptions",
          "[validation]") {
  for (const PublishedRow& row : published_rows()) {
    const auto found = row_case(row);
    if (std::holds_alternative<RowSkip>(found)) continue;
    const RowCase& c = std::get<RowCase>(found);
    CAPTURE(row.id, c.scenario_yaml);
    const Scenario scenario = parse_scenario(c.scenario_yaml, row.id);
    REQUIRE(scenario.assumptions == c.assumptions);
    if (c.own_network) {  // between clusters: machines are the testbed's, bytes the row's
      CHECK(static_cast<double>(scenario.refit.unique_bytes()) / 1e9 ==
            Approx(*row.bytes_gb).epsilon(0.03));
      CHECK(scenario.network_model.name == "dcr-aws");
      CHECK(scenario.plan.delta.has_value() == (c.system != "nemo_dcr_full"));
      continue;
    }
    REQUIRE(scenario.training->gpus == row.train_gpus);
    REQUIRE(scenario.generation->gpus == row.infer_gpus);
    REQUIRE(scenario.cluster.gpus() >= *row.train_gpus + *row.infer_gpus);
    REQUIRE(scenario.cluster.nodes() == *row.train_nodes + *row.infer_nodes);
    const double gb = static_cast<double>(scenario.refit.unique_bytes()) / 1e9;
    CAPTURE(gb, *row.bytes_gb);
    // 4.022 B parameters have 8.04 GB; 8.82 GB counts the tied head once more.
    if (row.id == "MX-04") {
      REQUIRE(says(c, "The catalog's qwen3-4b has 8.04 GB, the row 8.82 GB."));
    } else {
      REQUIRE(std::abs(gb / *row.bytes_gb - 1) < 0.03);
    }
  }
}

TEST_CASE("row case: one row in full", "[validation]") {
  // 61 layers on 16 stages are 3 + 14 x 4 + 2; the text's NICs are those of the catalog.
  REQUIRE(case_of(row_named("NV-03")).scenario_yaml ==
          "scenario: \"NV-03: DeepSeek-V3, gather + packed broadcast\"\n"
          "assumptions:\n"
          "  - \"61 layers on 16 stages: 3 in the first, 2 in the last.\"\n"
          "cluster: {catalog: dgx_h100, nodes: 64}\n"
          "model:\n"
          "  name: deepseek-v3\n"
          "training:\n"
          "  engine: megatron\n"
          "  gpus: 256\n"
          "  pipeline: 16\n"
          "  expert: 16\n"
          "  expert_tensor: 1\n"
          "  first_stage_layers: 3\n"
          "  last_stage_layers: 2\n"
          "generation:\n"
          "  engine: vllm\n"
          "  gpus: 256\n"
          "  tensor: 32\n");
}

TEST_CASE("row case: GPUs follow from the layout where no column has them", "[validation]") {
  PublishedRow row = row_named("NR-05");
  row.train_gpus = row.train_nodes = row.infer_gpus = row.infer_nodes = {};
  // TP8 PP8 EP32: experts need 32 x 8 ranks. TP16 DP16: 256.
  const RowCase found = case_of(row);
  REQUIRE(says(found, "The number of GPUs of training, 256, follows from its degrees."));
  REQUIRE(says(found, "The number of GPUs of generation, 256, follows from its degrees."));
  row.infer_layout = "TP16";
  REQUIRE(skip_of(row) == "infer_gpus");
  row.infer_nodes = 4;
  REQUIRE(says(case_of(row), "4 nodes of generation are full: 32 GPUs."));
  row.train_layout = "FSDP2";
  REQUIRE(skip_of(row) == "train_gpus");
}

TEST_CASE("row case: what does not fit is skipped with its column", "[validation]") {
  const PublishedRow good = row_named("NR-02");
  PublishedRow row = good;
  row.train_layout = "TP3 PP2";
  REQUIRE(skip_of(row) == "train_layout");
  row = good;
  row.infer_layout = "TP3";
  REQUIRE(skip_of(row) == "infer_layout");
  row = good;
  row.infer_layout = "TP2 (5 replicas)";
  REQUIRE(skip_of(row) == "infer_layout");
  row = good;
  row.infer_layout = "vLLM TP4 EP6";
  REQUIRE(skip_of(row) == "infer_layout");
  row = good;
  row.dtype = "NVFP4";
  REQUIRE(skip_of(row) == "dtype");
  row = good;
  row.model = "";
  REQUIRE(skip_of(row) == "model");
  row = good;
  row.train_gpus = 1'000'000;
  REQUIRE(skip_of(row) == "train_gpus");
}

TEST_CASE("row case: experts of generation, in each engine's words", "[validation]") {
  PublishedRow row = row_named("NR-02");
  row.infer_layout = "vLLM DP2 TP8 EP16";
  RowCase found = case_of(row);
  REQUIRE_THAT(found.scenario_yaml,
               Catch::Contains("  tensor: 8\n  expert_parallel: true\n  data: 2\n"));
  row.infer_layout = "SGLang DP2 TP8 EP16";
  found = case_of(row);
  REQUIRE_THAT(
      found.scenario_yaml,
      Catch::Contains(
          "  engine: sglang\n  gpus: 16\n  tensor: 16\n  expert: 16\n  attention_data: 2\n"));
}

TEST_CASE("row case: FP8 whose blocks a layout cuts becomes the nearest that is known",
          "[validation]") {
  PublishedRow row = row_named("NR-04");
  row.dtype = "BF16 -> FP8";
  // 18,432 rows over 32 ranks are 4.5 blocks of 128; the experts' 2,048 over 32 are half a block.
  REQUIRE(says(case_of(row), "Every weight has one byte on both sides"));
  // Whole experts on the ranks leave their blocks whole.
  row.infer_layout = "SGLang TP32 EP32";
  REQUIRE(says(case_of(row), "Only experts are in FP8"));
  row.infer_layout = "TP8";
  const RowCase found = case_of(row);
  REQUIRE_FALSE(says(found, "FP8"));
  REQUIRE_THAT(found.scenario_yaml, Catch::EndsWith("  tensor: 8\n  precision: fp8_blockwise\n"));
}

TEST_CASE("row case: checkpoint-engine starts in the memory of the generation nodes",
          "[validation]") {
  PublishedRow row;
  row.id = "CE";
  row.system = "checkpoint-engine";
  row.method = "broadcast";
  row.model = "Qwen3-235B-A22B-Instruct-2507";
  row.dtype = "BF16";
  row.infer_gpus = 8;
  row.infer_gpu_type = "H800";
  row.infer_layout = "TP8";
  const RowCase found = case_of(row);
  REQUIRE(found.system == "checkpoint_engine_broadcast");
  const Scenario scenario = parse_scenario(found.scenario_yaml, "CE");
  REQUIRE(scenario.cluster.gpus() == 8);  // no others
  REQUIRE(scenario.cluster.spec().groups.front().nvlink_bytes_per_s == 200e9);
}

TEST_CASE("row case: random cells are cases or skips and never anything else", "[validation]") {
  const std::uint32_t seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto rows = published_rows();
  const std::string pieces[] = {
      "TP",  "EP", "x",    "8",   "0", "99999999999", "(",  ")",  ";",   ",",  "FSDP2",   "per",
      "GPU", "/s", "Gb",   "400", "1", "\xC3\x97",    "\"", "\\", "\n",  "#",  "{",       "NVL",
      "EFA", "-",  "GB/s", "16",  "2", "replicas",    "->", ":",  "FP8", "DP", "domains", " "};
  const auto noise = [&](std::string text) {
    for (int edits = static_cast<int>(random() % 4); edits > 0; --edits) {
      const std::size_t at = random() % (text.size() + 1);
      if (random() % 3 == 0)
        text.erase(at, random() % 6);
      else if (random() % 3 == 0)
        text.insert(at, 1, static_cast<char>(random() % 256));
      else
        text.insert(at, pieces[random() % std::size(pieces)]);
    }
    return text;
  };
  for (int i = 0; i < 400; ++i) {
    PublishedRow row = rows[random() % rows.size()];
    for (std::string PublishedRow::*field :
         {&PublishedRow::system, &PublishedRow::method, &PublishedRow::model, &PublishedRow::dtype,
          &PublishedRow::train_gpu_type, &PublishedRow::train_layout, &PublishedRow::infer_gpu_type,
          &PublishedRow::infer_layout, &PublishedRow::interconnect, &PublishedRow::id}) {
      if (random() % 4 == 0)
        row.*field = noise(row.*field);
      else if (random() % 16 == 0)
        row.*field = rows[random() % rows.size()].*field;
    }
    if (random() % 4 == 0) row.train_gpus = static_cast<int>(random() % 300 + 1);
    if (random() % 4 == 0) row.infer_nodes = static_cast<int>(random() % 40 + 1);
    CAPTURE(i, row.id, row.method, row.model, row.dtype, row.train_layout, row.infer_layout,
            row.interconnect);
    const auto found = row_case(row);  // an exception fails the test
    if (const auto* skip = std::get_if<RowSkip>(&found)) {
      REQUIRE_FALSE(skip->field.empty());
      REQUIRE_FALSE(skip->reason.empty());
    } else {
      REQUIRE_NOTHROW(parse_scenario(std::get<RowCase>(found).scenario_yaml, "random"));
    }
  }
}
