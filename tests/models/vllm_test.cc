#include "tests/models/generation_case.h"

namespace refit::test {
namespace {

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
  REQUIRE(refusal_of(made_up_model(4, 6), degrees(8, 2, 2, 4)) ==
          "tensor x prefill_context x pipeline x data: an engine of 16 ranks does not divide 8 "
          "ranks; use 8");
  REQUIRE(refusal_of(made_up_model(4, 6), degrees(8, 0, 1, 1)) ==
          "tensor: 0 is not a degree; use 1 or more");
  // -2 x -2 = 4 divides 8.
  REQUIRE(refusal_of(made_up_model(4, 6), degrees(8, -2, 1, -2)) ==
          "tensor: -2 is not a degree; use 1 or more");
  REQUIRE(refusal_of(made_up_model(4, 6), degrees(8, 2, 1, -2)) ==
          "data: -2 is not a degree; use 1 or more");
  REQUIRE(refusal_of(made_up_model(4, 6), degrees(8, 1, 5, 1)) ==
          "pipeline: 5 stages for 4 layers; use 1 to 4");
  // 65536 x 65536 is 0 in 32 bits.
  REQUIRE(refusal_of(made_up_model(4, 6), degrees(8, 65'536, 1, 65'536)) ==
          "tensor x prefill_context x pipeline x data: an engine of 4294967296 ranks does not "
          "divide 8 ranks; use 8");
  REQUIRE(refusal_of(made_up_model(4, 6, {10, 2, 8}), degrees(8, 4, 1, 1)) ==
          "tensor: 4 does not divide 10 attention heads; use 2 or 10");
  REQUIRE(refusal_of(made_up_model(4, 6, {12, 6, 4}), degrees(8, 4, 1, 1)) ==
          "tensor: 4 is neither a divisor nor a multiple of 6 key/value heads; use 3 or 6");
}

TEST_CASE("vllm: a tensor that can't be cut is refused with its name", "[models][vllm]") {
  const auto side = vllm(made_up_model(4, 6), degrees(8, 4, 1, 1));
  REQUIRE(refusal([&] {
            side->layout(weight({{10, Axis::ffn, {}}}, Role::dense_ffn), 0, 1);
          }) == "tensor: w: 10 rows do not divide evenly into 4; use 2 or 5");
  // A vocabulary of 100 rows is padded to 128, which 3 does not divide.
  const auto three = vllm(made_up_model(4, 6), degrees(3, 3, 1, 1));
  REQUIRE(refusal([&] {
            three->layout(weight({{100, Axis::vocab, {}}}, Role::embedding), 0, 1);
          }) == "tensor: w: 100 rows padded to 128 do not divide evenly into 3; use 2 or 4");
  // Experts are cut by data x tensor.
  const auto wide = vllm(made_up_model(4, 6), degrees(16, 4, 1, 4));
  REQUIRE(refusal([&] { wide->layout(expert_weight(6, 8), 0, 1); }) ==
          "tensor x prefill_context x data: w: 8 rows do not divide evenly into 16; use 8");
}

TEST_CASE("vllm: tp is fastest, then pp, dp and the engine", "[models][vllm]") {
  VllmOptions options = degrees(16, 2, 2, 2);
  options.first = Rank(50);
  const auto side = vllm(made_up_model(5, 6), options);
  REQUIRE(side->gpus() == 16);
  REQUIRE(side->stages() == 2);
  REQUIRE(side->stage_layers() == std::vector<int>{3, 2});
  for (const int stage : {0, 1}) {
    const Layout layout = side->layout(weight({{8, Axis::ffn, {}}}, Role::dense_ffn), stage, 3);
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
  const auto side = vllm(made_up_model(4, 6), degrees(16, 2, 2, 2));
  const Layout layout = side->layout(expert_weight(6, 8), 1, 1);
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
  const auto side = vllm(made_up_model(4, 6), degrees(8, 2, 1, 2, true));
  const Layout layout = side->layout(expert_weight(6, 8), 0, 1);
  const std::vector<Interval> experts{{0, 2}, {2, 4}, {4, 5}, {5, 6}};
  for (int rank = 0; rank < 8; ++rank) {
    REQUIRE(held(layout, Rank(rank), 0) ==
            IntervalSet(experts[static_cast<std::size_t>(rank % 4)]));
    REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(Interval{0, 8}));
  }
  REQUIRE(layout.held_elements() == 2 * 6 * 8 * 3);
  // Other tensors do not notice.
  REQUIRE(side->layout(weight({{8, Axis::ffn, {}}}, Role::dense_ffn), 0, 1) ==
          vllm(made_up_model(4, 6), degrees(8, 2, 1, 2))
              ->layout(weight({{8, Axis::ffn, {}}}, Role::dense_ffn), 0, 1));
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
    const auto side = vllm(made_up_model(4, 6, heads), degrees(tp, tp, 1, 1));
    const TensorSpec k =
        weight({{heads.kv_heads * heads.head_dim, Axis::kv_head, {}}}, Role::attention, "k");
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

TEST_CASE("vllm: prefill context ranks copy dense weights and cut experts, as data ranks do",
          "[models][vllm]") {
  // dp 2, pp 2, pcp 2, tp 2: rank = tp + 2 (pcp + 2 (pp + 2 dp)).
  VllmOptions options = degrees(16, 2, 2, 2);
  options.prefill_context = 2;
  const auto side = vllm(made_up_model(4, 6), options);
  const Layout dense = side->layout(weight({{8, Axis::ffn, {}}}, Role::dense_ffn), 1, 1);
  const Layout experts = side->layout(expert_weight(6, 16), 1, 1);
  int moe = 0;
  for (int dp = 0; dp < 2; ++dp) {
    for (int pcp = 0; pcp < 2; ++pcp) {
      for (int tp = 0; tp < 2; ++tp, ++moe) {
        const Rank rank(tp + 2 * (pcp + 2 * (1 + 2 * dp)));
        REQUIRE(held(dense, rank, 0) == IntervalSet(Interval{4 * tp, 4 * tp + 4}));
        REQUIRE(held(experts, rank, 1) == IntervalSet(Interval{2 * moe, 2 * moe + 2}));
      }
    }
  }
}

TEST_CASE("vllm: shared experts are whole where data, tensor and expert parallelism meet",
          "[models][vllm]") {
  const TensorSpec shared = weight({{8, Axis::ffn, {}}}, Role::shared_expert, "gate");
  const auto rows_of_rank_1 = [&](VllmOptions options) {
    return held(vllm(made_up_model(4, 6), options)->layout(shared, 0, 1), Rank(1), 0).size();
  };
  VllmOptions options = degrees(4, 2, 1, 2, true);
  REQUIRE(rows_of_rank_1(options) == 8);
  REQUIRE(rows_of_rank_1(degrees(4, 2, 1, 2, false)) == 4);
  REQUIRE(rows_of_rank_1(degrees(4, 2, 1, 1, true)) == 4);  // two engines, each without data
  REQUIRE(rows_of_rank_1(degrees(4, 1, 1, 4, true)) == 8);  // nobody to cut it with

  options.all2all_backend = "pplx";  // takes copies of a token from every tensor rank
  REQUIRE(rows_of_rank_1(options) == 4);
  options.shared_experts = SharedExperts::replicated;
  REQUIRE(rows_of_rank_1(options) == 8);
  options.all2all_backend = "deepep_low_latency";
  options.shared_experts = SharedExperts::sharded;
  REQUIRE(rows_of_rank_1(options) == 4);
  options.shared_experts.reset();
  REQUIRE(rows_of_rank_1(options) == 8);
  options.version = "0.10";
  REQUIRE(rows_of_rank_1(options) == 4);
  options.all2all_backend = "mori";
  REQUIRE(refusal_of(made_up_model(4, 6), options) ==
          "all2all_backend: 'mori' is not known in version 0.10; use one of naive, pplx, "
          "deepep_high_throughput, deepep_low_latency");

  // The dense layers of the same model do not notice.
  const auto side = vllm(made_up_model(4, 6), degrees(4, 2, 1, 2, true));
  REQUIRE(held(side->layout(weight({{8, Axis::ffn, {}}}, Role::dense_ffn), 0, 1), Rank(1), 0) ==
          IntervalSet(Interval{4, 8}));
}

TEST_CASE("vllm: experts are placed only with expert parallelism, and as the release can",
          "[models][vllm]") {
  const ModelSpec model = made_up_model(4, 6);
  VllmOptions options = degrees(4, 2, 1, 2);
  options.experts.redundant = 2;
  REQUIRE(refusal_of(model, options) ==
          "redundant_experts: experts are cut, not placed, without expert_parallel: true");
  options.experts = {};
  options.experts.rule = "round_robin";
  REQUIRE(refusal_of(model, options) ==
          "expert_placement: experts are cut, not placed, without expert_parallel: true");
  options.expert_parallel = true;
  REQUIRE(held(vllm(model, options)->layout(expert_weight(6, 8), 0, 1), Rank(1), 0) ==
          rows({{1, 2}, {5, 6}}));
  options.version = "0.10";
  REQUIRE(refusal_of(model, options) ==
          "expert_placement: version 0.10 has no round_robin; use linear");
}

TEST_CASE("vllm: stages can be written out", "[models][vllm]") {
  VllmOptions options = degrees(3, 1, 3, 1);
  options.stage_layers = {2, 0, 2};
  const auto side = vllm(made_up_model(4), options);
  REQUIRE(side->stage_layers() == std::vector<int>{2, 0, 2});
  TensorSpec third = weight({{8, Axis::ffn, {}}}, Role::dense_ffn);
  third.layer = 2;
  REQUIRE(side->stage_of(third) == 2);
  options.stage_layers = {2, 1, 2};
  REQUIRE(refusal_of(made_up_model(4), options) ==
          "pipeline_partition: 3 stages with 5 layers are written out, but pipeline is 3 and the "
          "model has 4 layers");
  options.stage_layers = {5, -1, 0};
  REQUIRE(refusal_of(made_up_model(4), options) ==
          "pipeline_partition: -1 is no number of layers; use 0 or more");
}

TEST_CASE("vllm: a head that is the embedding needs it on the last stage too", "[models][vllm]") {
  ModelSpec model = made_up_model(4);
  const TensorSpec embedding =
      without_layer(weight({{128, Axis::vocab, {}}, {3, Axis::none, {}}}, Role::embedding));
  // engine 2 x pp 3 x tp 2. Stages 0 and 2 of engine 0 are ranks 0, 1 and 4, 5.
  const auto ranks_of = [&](const ModelSpec& of) {
    const auto side = vllm(of, degrees(12, 2, 3, 1));
    const Layout layout = side->layout(embedding, side->stage_of(embedding), 1);
    for (const Rank rank : layout.mesh().ranks()) {
      const std::int64_t first = rank.value % 2 * 64;
      REQUIRE(held(layout, rank, 0) == IntervalSet(Interval{first, first + 64}));
    }
    std::set<int> ranks;
    for (const Rank rank : layout.mesh().ranks()) ranks.insert(rank.value);
    return ranks;
  };
  REQUIRE(ranks_of(model) == std::set<int>{0, 1, 6, 7});
  model.tied_embeddings = true;
  REQUIRE(ranks_of(model) == std::set<int>{0, 1, 4, 5, 6, 7, 10, 11});
  // A prediction module embeds the tokens that it has predicted.
  model.tied_embeddings = false;
  model.tensors = {weight({{3, Axis::none, {}}}, Role::norm)};
  model.tensors.front().mtp = true;
  REQUIRE(ranks_of(model) == std::set<int>{0, 1, 4, 5, 6, 7, 10, 11});
}

TEST_CASE("vllm: Qwen3-235B has 4 KV heads, which 8 and 16 ranks share and 3 can't",
          "[models][vllm]") {
  const ModelSpec model = catalog_model("qwen3-235b-a22b");
  const TensorSpec& k = tensor_named(model, "model.layers.0.self_attn.k_proj.weight");
  for (const int tensor : {8, 16}) {
    const Layout layout = layout_of(*vllm(model, degrees(tensor, tensor, 1, 1)), k);
    for (int r = 0; r < tensor; ++r) {
      const std::int64_t head = r / (tensor / 4);
      REQUIRE(held(layout, Rank(r), 0) == IntervalSet(Interval{128 * head, 128 * (head + 1)}));
    }
  }
  REQUIRE(refusal_of(model, degrees(3, 3, 1, 1)) ==
          "tensor: 3 does not divide 64 attention heads; use 2 or 4");
}

TEST_CASE("vllm: heads of linear attention stay whole", "[models][vllm]") {
  // Ultra has 256 Mamba heads in 8 groups: 16 ranks would halve each group's B and C.
  REQUIRE(refusal_of(catalog_model("nemotron-3-ultra-550b-a55b"), degrees(16, 16, 1, 1)) ==
          "tensor: 16 does not divide 8 groups of Mamba heads; use 8");
  // Qwen3.8: 16 key heads of 128 rows, which 32 would cut in halves.
  REQUIRE(refusal_of(catalog_model("qwen3.8-2.4t-a95b"), degrees(32, 32, 1, 1)) ==
          "tensor: 32 does not divide 16 key heads of linear attention; use 16");
  REQUIRE(refusal_of(catalog_model("kimi-k3"), degrees(64, 64, 1, 1)) ==
          "tensor: 64 does not divide 96 attention heads; use 48 or 96");
}

TEST_CASE("vllm: B and C of a single Mamba group are whole on every rank", "[models][vllm]") {
  ModelSpec model = made_up_model(4, 0, {8, 8, 4, false});
  model.linear_heads = {.heads = 8, .key_heads = 0, .mamba_groups = 1};
  const auto side = vllm(model, degrees(4, 4, 1, 1));
  // z 16 | x 16 | B 6 | C 6 | dt 8; the second of 4 ranks.
  const Layout in_proj = side->layout(
      weight({{52, Axis::q_head, {16, 16, 6, 6, 8}}}, Role::linear_attention, "in_proj"), 0, 1);
  REQUIRE(held(in_proj, Rank(1), 0) == rows({{4, 8}, {20, 24}, {32, 44}, {46, 48}}));
  const Layout conv =
      side->layout(weight({{28, Axis::q_head, {16, 6, 6}}}, Role::linear_attention, "conv"), 0, 1);
  REQUIRE(held(conv, Rank(1), 0) == rows({{4, 8}, {16, 28}}));
}

TEST_CASE("vllm: K3's delta attention at TP8", "[models][vllm]") {
  // One matrix in the engine: q | k | v | g of 1536 rows each, f_a whole with 128, b with 12.
  const ModelSpec model = catalog_model("kimi-k3");
  const auto side = vllm(model, degrees(8, 8, 1, 1));
  std::int64_t local = 0;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "g_proj", "f_a_proj", "b_proj"}) {
    const TensorSpec& spec = tensor_named(
        model, std::string("language_model.model.layers.0.self_attn.") + name + ".weight");
    local += held(layout_of(*side, spec), Rank(3), 0).size();
  }
  REQUIRE(local == 4 * 1536 + 128 + 12);  // the engine pads to 6288
}

TEST_CASE("vllm: gpt-oss is cut in pairs, by whole blocks of 32 under an MXFP4 kernel",
          "[models][vllm]") {
  // I = 2880 over 8: 360 each. In blocks 90 / 8, rounded up: 12 blocks or 384 each, 192 the last.
  const ModelSpec model = catalog_model("gpt-oss-120b");
  const std::string experts = "model.layers.0.mlp.experts.";
  const auto columns = [&](bool mxfp4, const char* name, int dim, int rank) {
    VllmOptions options = degrees(8, 8, 1, 1);
    options.mxfp4_experts = mxfp4;
    return held(layout_of(*vllm(model, options), tensor_named(model, experts + name)), Rank(rank),
                dim);
  };
  REQUIRE(columns(false, "gate_up_proj", 2, 7) == IntervalSet(Interval{2 * 2520, 2 * 2880}));
  REQUIRE(columns(false, "down_proj", 1, 7) == IntervalSet(Interval{2520, 2880}));
  REQUIRE(columns(true, "gate_up_proj", 2, 6) == IntervalSet(Interval{2 * 2304, 2 * 2688}));
  REQUIRE(columns(true, "gate_up_proj", 2, 7) == IntervalSet(Interval{2 * 2688, 2 * 2880}));
  REQUIRE(columns(true, "gate_up_proj_bias", 1, 7) == IntervalSet(Interval{2 * 2688, 2 * 2880}));
  REQUIRE(columns(true, "down_proj", 1, 0) == IntervalSet(Interval{0, 384}));
  REQUIRE(columns(true, "down_proj", 1, 7).size() == 192);
  // Added after the sum over ranks: the first rank has it, the others zeros.
  REQUIRE(columns(false, "down_proj_bias", 1, 0) == IntervalSet(Interval{0, 2880}));
  REQUIRE(columns(false, "down_proj_bias", 1, 1).empty());

  VllmOptions options = degrees(8, 8, 1, 1);
  options.mxfp4_experts = true;
  REQUIRE(refusal_of(catalog_model("qwen3-30b-a3b"), options) ==
          "mxfp4_experts: the experts of qwen3-30b-a3b are cut alike with and without; leave this "
          "out");
}

}  // namespace refit::test
