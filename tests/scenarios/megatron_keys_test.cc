// The keys of a Megatron side: what they do, and what they refuse.
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

// Line 4 is the training side's. 48 layers, 128 experts, 151,936 rows of the vocabulary.
std::string scenario(const std::string& keys, const std::string& model = "qwen3-30b-a3b") {
  return "scenario: s\ncluster: {catalog: dgx_h100, nodes: 4}\nmodel: " + model +
         "\ntraining: {engine: megatron" + keys +
         "}\ngeneration: {engine: megatron, gpus: 8, tensor: 4, expert: 2, expert_tensor: 1}\n";
}

std::string training(const std::string& keys, const std::string& model = "qwen3-30b-a3b") {
  return error_of(scenario(keys, model));
}

// The first class with such a name in such a stage.
const TensorClass& class_of(const Scenario& s, const std::string& name, int stage) {
  for (const TensorClass& c : s.refit.classes) {
    if (c.name.find(name) != std::string::npos && c.stage == stage) return c;
  }
  FAIL("no " << name << " in stage " << stage);
  return s.refit.classes.front();
}

IntervalSet embedding_rows(const std::string& padding) {
  const Scenario s =
      parse_scenario(scenario(", gpus: 4, tensor: 4, expert_tensor: 1" + padding), "s.yaml");
  return class_of(s, "embed_tokens", 0).source.shard(0)[1];
}

}  // namespace

TEST_CASE("a Megatron engine generates as one trains", "[scenarios]") {
  const Scenario s = parse_scenario(scenario(", gpus: 8"), "s.yaml");
  const TensorClass& gate = class_of(s, "experts.{expert}.gate_proj", 0);
  // Generation: 8 ranks of tp 4 x dp 2 and of ep 2 x edp 4, from rank 8.
  REQUIRE(s.refit.destinations.front() == Rank(8));
  REQUIRE(gate.destination.mesh().size() == 8);
  REQUIRE(gate.destination.shard(1)[1] == IntervalSet(Interval{64, 128}));
  REQUIRE(class_of(s, "o_proj", 0).destination.shard(1)[2] == IntervalSet(Interval{1024, 2048}));
}

TEST_CASE("order and virtual_pipeline of a Megatron side are read", "[scenarios]") {
  const Scenario s = parse_scenario(
      scenario(", gpus: 8, pipeline: 2, virtual_pipeline: 3, order: tp-cp-ep-pp-dp"), "s.yaml");
  // Stage 0 has layers 0..7, 16..23 and 32..39, and every second rank.
  const TensorClass& o = class_of(s, "o_proj", 0);
  REQUIRE(o.members.size() == 24);
  REQUIRE(o.source.mesh().ranks() == std::vector<Rank>{Rank(0), Rank(2), Rank(4), Rank(6)});
  REQUIRE(class_of(s, "o_proj", 1).name == "model.layers.8.self_attn.o_proj.weight");
}

TEST_CASE("vocab_padding is a rule or a number", "[scenarios]") {
  // 128 x 4: 152,064 rows, 38,016 each. Bridge finds 128, too. 1 x 4: 37,984 each, as unpadded.
  // 1000 x 4: 152,000, 38,000 each.
  REQUIRE(embedding_rows("") == IntervalSet(Interval{0, 38'016}));
  REQUIRE(embedding_rows(", vocab_padding: megatron") == IntervalSet(Interval{0, 38'016}));
  REQUIRE(embedding_rows(", vocab_padding: bridge") == IntervalSet(Interval{0, 38'016}));
  REQUIRE(embedding_rows(", vocab_padding: none") == IntervalSet(Interval{0, 37'984}));
  REQUIRE(embedding_rows(", vocab_padding: 1") == IntervalSet(Interval{0, 37'984}));
  REQUIRE(embedding_rows(", vocab_padding: 1000") == IntervalSet(Interval{0, 38'000}));

  CHECK(training(", gpus: 8, vocab_padding: 0") ==
        "s.yaml:4:54: training.vocab_padding: expected an integer from 1 to 1000000, got '0'");
  CHECK(training(", gpus: 8, vocab_padding: nemo") ==
        "s.yaml:4:54: training.vocab_padding: unknown padding 'nemo'; write megatron, bridge, "
        "none, or a number: rows are padded to a multiple of it times tensor");
}

TEST_CASE("a forgotten expert_tensor is refused with its cure", "[scenarios][errors]") {
  CHECK(training(", gpus: 8, tensor: 8, expert: 8") ==
        "s.yaml:4:58: training.expert: expert 8 x expert_tensor 8 x pipeline 1 need 64 ranks, but "
        "gpus is 8; expert_tensor is tensor (8) unless it is written; write expert_tensor: 1");
  CHECK(training(", gpus: 8, tensor: 4, expert: 8, expert_tensor: 1") == "read without an error");
}

TEST_CASE("complaints about stages stand at their key", "[scenarios][errors]") {
  CHECK(training(", gpus: 8, order: tp-pp") ==
        "s.yaml:4:46: training.order: 'tp-pp' has 2 axes; write tp, cp, ep, dp and pp once each, "
        "fastest first: tp-cp-ep-dp-pp");
  CHECK(training(", gpus: 8, pipeline: 4, virtual_pipeline: 5") ==
        "s.yaml:4:70: training.virtual_pipeline: 12 layers of stage 0 do not divide evenly into 5 "
        "chunks; use 4 or 6");
  CHECK(training(", gpus: 8, pipeline: 2, pipeline_layout: \"Et*48|t|L\"") ==
        "s.yaml:4:69: training.pipeline_layout: 49 decoder layers (t) are written, but the model "
        "has 48");
  CHECK(training(", gpus: 8, pipeline: 2, hybrid_pattern: \"M|E\"") ==
        "s.yaml:4:68: training.hybrid_pattern: layers of qwen3-30b-a3b have attention and "
        "feed-forward together, so they have no pattern; use pipeline_layout");
  CHECK(training(", gpus: 8, pipeline: 8, account_for_embedding: true") ==
        "s.yaml:4:49: training.pipeline: 48 layers with 1 more for the embedding do not divide "
        "evenly over 8 stages; use 1");
  CHECK(training(", gpus: 8, tensor: 8, expert_tensor: 1, account_for_loss: 1", "qwen3-8b") ==
        "s.yaml:4:86: training.account_for_loss: expected true or false, got '1'");
}

TEST_CASE("tensor ranks of Nemotron are at most its Mamba groups", "[scenarios][errors]") {
  CHECK(training(", gpus: 16, tensor: 16, expert_tensor: 1", "nemotron-3-ultra-550b-a55b") ==
        "s.yaml:4:48: training.tensor: 16 does not divide the 8 groups of Mamba heads; use 8");
}

}  // namespace refit::test
