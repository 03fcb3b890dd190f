#include <catch2/catch.hpp>

#include "tests/models/engine_case.h"

namespace refit::test {
namespace {

ModelSpec small_model(int layers, HeadGroups heads = {}) {
  ModelSpec model;
  model.layers = layers;
  model.experts = 6;
  model.heads = heads;
  return model;
}

TensorSpec tensor(std::vector<TensorDim> dims, Role role = Role::dense_ffn, std::string part = "") {
  TensorSpec spec;
  spec.name = "w";
  spec.dims = std::move(dims);
  spec.role = role;
  spec.part = std::move(part);
  spec.layer = 0;
  return spec;
}

const TensorSpec& expert_tensor() {
  static const TensorSpec spec =
      tensor({{6, Axis::expert, {}}, {8, Axis::ffn, {}}, {3, Axis::none, {}}}, Role::routed_expert);
  return spec;
}

VllmOptions degrees(int gpus, int tensor, int pipeline, int data, bool expert_parallel = false) {
  VllmOptions options;
  options.gpus = gpus;
  options.tensor = tensor;
  options.pipeline = pipeline;
  options.data = data;
  options.expert_parallel = expert_parallel;
  return options;
}

std::string refusal_of(const ModelSpec& model, const VllmOptions& options) {
  return refusal([&] { vllm(model, options); });
}

}  // namespace

TEST_CASE("vllm: layers left over go to the stages before the last, backwards", "[models][vllm]") {
  REQUIRE(vllm_stage_layers(8, 1) == std::vector<int>{8});
  REQUIRE(vllm_stage_layers(8, 4) == std::vector<int>{2, 2, 2, 2});
  REQUIRE(vllm_stage_layers(7, 2) == std::vector<int>{4, 3});
  REQUIRE(vllm_stage_layers(11, 4) == std::vector<int>{3, 3, 3, 2});
  REQUIRE(vllm_stage_layers(5, 5) == std::vector<int>{1, 1, 1, 1, 1});
  REQUIRE(refusal([] { vllm_stage_layers(5, 6); }) ==
          "pipeline: 6 stages for 5 layers; use 1 to 5");
  REQUIRE(refusal([] { vllm_stage_layers(5, 0); }) ==
          "pipeline: 0 stages for 5 layers; use 1 to 5");
}

TEST_CASE("vllm: degrees that do not fit are refused", "[models][vllm]") {
  REQUIRE(refusal_of(small_model(4), degrees(8, 2, 2, 4)) ==
          "tensor x pipeline x data: an engine of 16 ranks does not divide 8 ranks");
  REQUIRE(refusal_of(small_model(4), degrees(8, 0, 1, 1)) ==
          "tensor: 0 is not a degree; use 1 or more");
  // -2 x -2 = 4 divides 8.
  REQUIRE(refusal_of(small_model(4), degrees(8, -2, 1, -2)) ==
          "tensor: -2 is not a degree; use 1 or more");
  REQUIRE(refusal_of(small_model(4), degrees(8, 2, 1, -2)) ==
          "data: -2 is not a degree; use 1 or more");
  REQUIRE(refusal_of(small_model(4), degrees(8, 1, 5, 1)) ==
          "pipeline: 5 stages for 4 layers; use 1 to 4");
  // 65536 x 65536 is 0 in 32 bits.
  REQUIRE(refusal_of(small_model(4), degrees(8, 65'536, 1, 65'536)) ==
          "tensor x pipeline x data: an engine of 4294967296 ranks does not divide 8 ranks");
  REQUIRE(refusal_of(small_model(4, {10, 2, 8}), degrees(8, 4, 1, 1)) ==
          "tensor: 4 does not divide 10 attention heads; use a divisor of 10");
  REQUIRE(refusal_of(small_model(4, {12, 6, 4}), degrees(8, 4, 1, 1)) ==
          "tensor: 4 is neither a divisor nor a multiple of 6 key/value heads; use one");
}

TEST_CASE("vllm: a tensor that can't be cut is refused with its name", "[models][vllm]") {
  const auto side = vllm(small_model(4), degrees(8, 4, 1, 1));
  REQUIRE(refusal([&] {
            side->layout(tensor({{10, Axis::ffn, {}}}), 0, 1);
          }) ==
          "tensor: w can't be cut by 4 ranks: a dim of 10 rows does not divide evenly into 4; use "
          "a divisor of "
          "10, or split: chunk or balanced");
  // A vocabulary of 100 rows is padded to 128, which 3 does not divide.
  const auto three = vllm(small_model(4), degrees(3, 3, 1, 1));
  REQUIRE(refusal([&] {
            three->layout(tensor({{100, Axis::vocab, {}}}, Role::embedding), 0, 1);
          }) ==
          "tensor: w can't be cut by 3 ranks: 100 rows padded to 128 do not divide evenly into 3; "
          "pad to a "
          "multiple of 3");
  // Experts are cut by data x tensor.
  const auto wide = vllm(small_model(4), degrees(16, 4, 1, 4));
  REQUIRE(refusal([&] { wide->layout(expert_tensor(), 0, 1); }) ==
          "tensor: w can't be cut by 16 ranks: a dim of 8 rows does not divide evenly into 16; use "
          "a divisor of "
          "8, or split: chunk or balanced");
}

TEST_CASE("vllm: tp is fastest, then pp, dp and the engine", "[models][vllm]") {
  VllmOptions options = degrees(16, 2, 2, 2);
  options.first = Rank(50);
  const auto side = vllm(small_model(5), options);
  REQUIRE(side->gpus() == 16);
  REQUIRE(side->stages() == 2);
  REQUIRE(side->stage_layers() == std::vector<int>{3, 2});
  for (const int stage : {0, 1}) {
    const Layout layout = side->layout(tensor({{8, Axis::ffn, {}}}), stage, 3);
    REQUIRE(layout.shape() == std::vector<std::int64_t>{3, 8});
    std::vector<Rank> expected;
    for (int engine = 0; engine < 2; ++engine) {
      for (int dp = 0; dp < 2; ++dp) {
        for (int tp = 0; tp < 2; ++tp)
          expected.push_back(Rank(50 + ((engine * 2 + dp) * 2 + stage) * 2 + tp));
      }
    }
    REQUIRE(layout.mesh().ranks() == expected);
    for (int i = 0; i < 8; ++i) {
      const std::int64_t first = i % 2 * 4;
      REQUIRE(layout.shard(i)[1] == IntervalSet(Interval{first, first + 4}));
    }
  }
}

TEST_CASE("vllm: without expert parallel, data x tensor ranks cut every expert, data outermost",
          "[models][vllm]") {
  // Two engines of dp 2, pp 2, tp 2. Stage 1 of engine 0: ranks 2, 3 (dp 0) and 6, 7 (dp 1).
  const auto side = vllm(small_model(4), degrees(16, 2, 2, 2));
  const Layout layout = side->layout(expert_tensor(), 1, 1);
  std::int64_t first = 0;
  for (const int rank : {2, 3, 6, 7}) {
    for (const int engine : {0, 8}) {
      REQUIRE(held(layout, Rank(rank + engine), 0) == IntervalSet(Interval{0, 6}));
      REQUIRE(held(layout, Rank(rank + engine), 1) == IntervalSet(Interval{first, first + 2}));
    }
    first += 2;
  }
  REQUIRE(layout.held_elements() == 2 * 6 * 8 * 3);
}

TEST_CASE("vllm: with expert parallel, experts are whole, the first ranks hold one more",
          "[models][vllm]") {
  // 6 experts over 4 ranks: 2, 2, 1, 1.
  const auto side = vllm(small_model(4), degrees(8, 2, 1, 2, true));
  const Layout layout = side->layout(expert_tensor(), 0, 1);
  const std::vector<Interval> experts{{0, 2}, {2, 4}, {4, 5}, {5, 6}};
  for (int rank = 0; rank < 8; ++rank) {
    REQUIRE(held(layout, Rank(rank), 0) ==
            IntervalSet(experts[static_cast<std::size_t>(rank % 4)]));
    REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(Interval{0, 8}));
  }
  REQUIRE(layout.held_elements() == 2 * 6 * 8 * 3);
  // Other tensors do not notice.
  REQUIRE(side->layout(tensor({{8, Axis::ffn, {}}}), 0, 1) ==
          vllm(small_model(4), degrees(8, 2, 1, 2))->layout(tensor({{8, Axis::ffn, {}}}), 0, 1));
}

TEST_CASE("vllm: what a model keeps per expert lies with the experts, whatever its role",
          "[models][vllm]") {
  // gpt-oss lists expert biases with the small tensors; with expert parallel they were once cut by
  // tensor rank instead, and each rank had a part of every expert's bias.
  const ModelSpec model = catalog_model("gpt-oss-120b");
  const auto side = vllm(model, degrees(8, 4, 1, 2, true));
  for (const char* name : {"gate_up_proj_bias", "down_proj_bias", "gate_up_proj", "down_proj"}) {
    const TensorSpec& spec = tensor_named(model, std::string("model.layers.0.mlp.experts.") + name);
    const Layout layout = layout_of(*side, spec);
    for (int rank = 0; rank < 8; ++rank) {
      REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(Interval{16 * rank, 16 * rank + 16}));
      REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(Interval{0, spec.dims[1].size}));
    }
  }
}

TEST_CASE("vllm: fewer key and value heads than ranks are shared, more are cut", "[models][vllm]") {
  const auto rows_of_rank = [](HeadGroups heads, int tp, int rank) {
    const auto side = vllm(small_model(4, heads), degrees(tp, tp, 1, 1));
    const TensorSpec k =
        tensor({{heads.kv_heads * heads.head_dim, Axis::kv_head, {}}}, Role::attention, "k");
    return held(side->layout(k, 0, 1), Rank(rank), 0);
  };
  REQUIRE(rows_of_rank({8, 2, 10, false}, 8, 3) == IntervalSet(Interval{0, 10}));
  REQUIRE(rows_of_rank({8, 2, 10, false}, 8, 4) == IntervalSet(Interval{10, 20}));
  REQUIRE(rows_of_rank({8, 2, 10, false}, 2, 1) == IntervalSet(Interval{10, 20}));
  REQUIRE(rows_of_rank({8, 4, 10, false}, 2, 1) == IntervalSet(Interval{20, 40}));
}

TEST_CASE("vllm: a checkpoint that fuses q, k and v shares key and value heads too",
          "[models][vllm]") {
  // Ling: q | k | v of 64 + 8 + 8 heads x 128. At TP16, rank 5 has query heads 20..23 and head 2 of
  // key and value; heads were once cut in halves instead.
  const ModelSpec model = catalog_model("ling-1t");
  const TensorSpec& fused = tensor_named(model, "model.layers.0.attention.query_key_value.weight");
  const Layout sixteen = layout_of(*vllm(model, degrees(16, 16, 1, 1)), fused);
  REQUIRE(held(sixteen, Rank(5), 0) ==
          rows({{20 * 128, 24 * 128}, {66 * 128, 67 * 128}, {74 * 128, 75 * 128}}));
  REQUIRE(sixteen.held_elements() == (64 + 2 * 16) * 128 * 8192);
  const Layout eight = layout_of(*vllm(model, degrees(8, 8, 1, 1)), fused);
  REQUIRE(held(eight, Rank(5), 0) ==
          rows({{40 * 128, 48 * 128}, {69 * 128, 70 * 128}, {77 * 128, 78 * 128}}));
  REQUIRE(eight.held_elements() == fused.elements());
}

TEST_CASE("vllm: heads of other kinds of attention are cut, not shared", "[models][vllm]") {
  // MiniMax-M1 fuses q, k and v of lightning layers head by head.
  const ModelSpec model = catalog_model("minimax-m1");
  const Layout layout = layout_of(*vllm(model, degrees(16, 16, 1, 1)),
                                  tensor_named(model, "model.layers.0.self_attn.qkv_proj.weight"));
  REQUIRE(held(layout, Rank(5), 0) == IntervalSet(Interval{5 * 4 * 3 * 128, 6 * 4 * 3 * 128}));
}

TEST_CASE("vllm: the embedding is on the first stage, norm, head and MTP on the last",
          "[models][vllm]") {
  const ModelSpec model = catalog_model("deepseek-v3", {.mtp = true});
  const auto side = vllm(model, degrees(4, 1, 4, 1));
  REQUIRE(side->stage_of(tensor_named(model, "model.embed_tokens.weight")) == 0);
  REQUIRE(side->stage_of(tensor_named(model, "model.norm.weight")) == 3);
  REQUIRE(side->stage_of(tensor_named(model, "lm_head.weight")) == 3);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.61.eh_proj.weight")) == 3);
  // 15, 15, 16, 15
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.14.input_layernorm.weight")) == 0);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.45.input_layernorm.weight")) == 2);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.46.input_layernorm.weight")) == 3);
}

}  // namespace refit::test
