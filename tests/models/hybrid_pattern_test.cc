// Megatron's hybrid_layer_pattern.
#include <catch2/catch.hpp>

#include "models/megatron_stages.h"
#include "tests/models/megatron_case.h"

namespace refit::test {
namespace {

const ModelSpec& nano() {
  static const ModelSpec model = catalog_model("nemotron-3-nano-30b-a3b");
  return model;
}

MegatronOptions written(const std::string& pattern, int stages, int chunks = 1) {
  MegatronOptions options = degrees(stages, 1, 1, stages, 1, 1);
  options.virtual_pipeline = chunks;
  options.hybrid_pattern = pattern;
  return options;
}

std::string refused(const std::string& pattern, int stages, int chunks = 1) {
  return refusal_of(nano(), written(pattern, stages, chunks));
}

// The model's blocks with bars before these.
std::string with_bars(std::vector<std::size_t> before) {
  std::string pattern = hybrid_blocks(nano());
  for (std::size_t i = before.size(); i-- > 0;) pattern.insert(before[i], "|");
  return pattern;
}

}  // namespace

TEST_CASE("hybrid_pattern: a model's own blocks are read off its tensors", "[models][megatron]") {
  REQUIRE(hybrid_blocks(nano()) == "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME");
  // 48 Mamba, 48 expert and 12 attention blocks.
  const std::string ultra = hybrid_blocks(catalog_model("nemotron-3-ultra-550b-a55b"));
  REQUIRE(std::count(ultra.begin(), ultra.end(), 'M') == 48);
  REQUIRE(std::count(ultra.begin(), ultra.end(), 'E') == 48);
  REQUIRE(std::count(ultra.begin(), ultra.end(), '*') == 12);
  REQUIRE(hybrid_blocks(catalog_model("qwen3-8b")) == "");
  REQUIRE(hybrid_blocks(catalog_model("qwen3.5-397b-a17b")) == "");
}

TEST_CASE("hybrid_pattern: bars are borders of chunks", "[models][megatron]") {
  REQUIRE(megatron_stages(nano(), written(with_bars({20}), 2)).layers == std::vector<int>{20, 32});
  // Four chunks on two stages: 0..4 and 15..29, then 5..14 and 30..51.
  const MegatronStages rounds = megatron_stages(nano(), written(with_bars({5, 15, 30}), 2, 2));
  REQUIRE(rounds.layers == std::vector<int>{20, 32});
  for (int layer = 0; layer < 52; ++layer) {
    REQUIRE(rounds.stage_of_layer[static_cast<std::size_t>(layer)] ==
            (layer < 5 || (layer >= 15 && layer < 30) ? 0 : 1));
  }
  // Chunks may be empty.
  REQUIRE(megatron_stages(nano(), written("|" + with_bars({}), 2)).layers ==
          std::vector<int>{0, 52});
}

TEST_CASE("hybrid_pattern: without bars stages are even, or have fixed ends",
          "[models][megatron]") {
  MegatronOptions options = written(with_bars({}) + "/*E/*E", 4);
  REQUIRE(megatron_stages(nano(), options).layers == std::vector<int>{13, 13, 13, 13});
  options.first_stage_layers = 10;
  options.last_stage_layers = 12;
  REQUIRE(megatron_stages(nano(), options).layers == std::vector<int>{10, 15, 15, 12});
}

TEST_CASE("hybrid_pattern: what does not fit the model is refused", "[models][megatron]") {
  const std::string blocks = with_bars({});
  REQUIRE(refused("*" + blocks.substr(1), 1) ==
          "hybrid_pattern: block 0 (counted from 0) is written '*', but the model has 'M' there");
  REQUIRE(refused(blocks + "M", 1) ==
          "hybrid_pattern: 53 blocks are written, but the model has 52");
  REQUIRE(refused(blocks.substr(2), 1).starts_with("hybrid_pattern: block 3 "));
  REQUIRE(refused(blocks.substr(0, 50), 1) ==
          "hybrid_pattern: 50 blocks are written, but the model has 52");
  REQUIRE(refused(with_bars({5, 15}), 2) ==
          "hybrid_pattern: 3 chunks do not divide evenly over 2 stages; use 1 bars or a multiple "
          "of 2 chunks");
  REQUIRE(refused(with_bars({5}), 2, 2) ==
          "virtual_pipeline: 2 chunks a stage, but hybrid_pattern has 1; make them equal or leave "
          "this out");
  REQUIRE(refused(blocks, 2, 13) ==
          "virtual_pipeline: nemotron-3-nano-30b-a3b mixes kinds of blocks, which Megatron puts "
          "into chunks only by hybrid_pattern; write 26 chunks with bars between them");
  REQUIRE(refused(blocks + "/*X", 1) ==
          "hybrid_pattern: 'X' in the blocks of a prediction module is unknown; use letters of "
          "MGE*+-D");
  REQUIRE(refused(blocks + "/*E/*M", 1) ==
          "hybrid_pattern: prediction modules '*E' and '*M' differ; make them equal");
  MegatronOptions options = written(with_bars({5}), 2);
  options.first_stage_layers = 5;
  REQUIRE(refusal_of(nano(), options) ==
          "first_stage_layers: hybrid_pattern already says where stages begin; leave one out");
  REQUIRE(refusal_of(catalog_model("qwen3-8b"), written("**", 1)) ==
          "hybrid_pattern: layers of qwen3-8b have attention and feed-forward together, so they "
          "have no pattern; use pipeline_layout");
}

}  // namespace refit::test
