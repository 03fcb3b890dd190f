#include <catch2/catch.hpp>

#include "tests/models/fused_qkv.h"
#include "tests/models/megatron_case.h"
#include "tests/models/row_cuts.h"

namespace refit::test {
namespace {

TensorSpec tensor(std::vector<TensorDim> dims, Role role = Role::dense_ffn, std::string part = "") {
  TensorSpec spec;
  spec.name = "w";
  spec.dims = std::move(dims);
  spec.role = role;
  spec.part = std::move(part);
  spec.layer = 0;
  return spec;
}

// Every rank's rows against the fused matrix built row by row.
void require_cut_of_fused_matrix(const HeadGroups& heads, int ranks) {
  CAPTURE(heads.q_heads, heads.kv_heads, heads.head_dim, heads.gated, ranks);
  const std::vector<QkvRow> fused = fused_matrix(heads);
  const std::size_t each = fused.size() / static_cast<std::size_t>(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::map<char, Rows> expected;
    for (std::size_t i = 0; i < each; ++i) {
      const QkvRow& row = fused[static_cast<std::size_t>(rank) * each + i];
      expected[row.matrix].push_back(row.row);
    }
    for (auto& [matrix, list] : expected) std::sort(list.begin(), list.end());
    const QkvRows got = megatron_qkv_rows(heads, ranks, rank);
    REQUIRE(rows_of(got.q) == expected['q']);
    REQUIRE(rows_of(got.k) == expected['k']);
    REQUIRE(rows_of(got.v) == expected['v']);
  }
}

}  // namespace

TEST_CASE("megatron: a tensor that can't be cut is refused with the key and its name",
          "[models][megatron]") {
  const auto side = megatron(small_model(4, 8), degrees(8, 4, 1, 2, 1, 4));
  REQUIRE(refusal([&] {
            side->layout(tensor({{10, Axis::ffn, {}}}), 0, 1);
          }) == "tensor: w can't be cut by 4 ranks: 10 rows do not divide evenly; use 2");
  REQUIRE(refusal([&] {
            side->layout(tensor({{8, Axis::expert, {}}, {10, Axis::ffn, {}}}, Role::routed_expert),
                         0, 1);
          }) == "expert_tensor: w can't be cut by 4 ranks: 10 rows do not divide evenly; use 2");
  // (32 + 2 x 2) heads of 4 rows: 144 rows, 4.5 for each of 32.
  const auto fused = megatron(small_model(4, 0, {32, 2, 4}), degrees(32, 32, 1, 1));
  REQUIRE(refusal([&] {
            fused->layout(tensor({{128, Axis::q_head, {}}}, Role::attention, "q"), 0, 1);
          }) ==
          "tensor: w can't be cut by 32 ranks: 144 rows of the fused QKV matrix do not divide "
          "evenly; use 16");
}

TEST_CASE("megatron: tp is fastest, then cp, dp and pp, and cp and dp hold copies",
          "[models][megatron]") {
  MegatronOptions options = degrees(16, 2, 2, 2);
  options.first = Rank(100);
  const auto side = megatron(small_model(2), options);
  REQUIRE(side->gpus() == 16);
  REQUIRE(side->stages() == 2);
  REQUIRE(side->stage_layers() == std::vector<int>{1, 1});
  for (const int stage : {0, 1}) {
    const Layout layout = side->layout(tensor({{8, Axis::ffn, {}}, {3, Axis::none, {}}}), stage, 5);
    REQUIRE(layout.shape() == std::vector<std::int64_t>{5, 8, 3});
    for (int i = 0; i < 8; ++i) {
      const Rank rank(100 + 8 * stage + i);
      const std::int64_t first = i % 2 * 4;
      REQUIRE(held(layout, rank, 0) == IntervalSet(Interval{first, first + 4}));
    }
    REQUIRE(layout.held_elements() == 4 * 5 * 8 * 3);  // dp 2 x cp 2
    REQUIRE(index_of(layout, Rank(100 + 8 * (1 - stage))) == -1);
  }
}

TEST_CASE("megatron: experts have a grid of their own, over tp, cp and dp", "[models][megatron]") {
  // 16 ranks a stage: etp 2, ep 4, edp 2.
  const auto side = megatron(small_model(2, 8), degrees(16, 4, 2, 1, 4, 2));
  const Layout layout = side->layout(
      tensor({{8, Axis::expert, {}}, {6, Axis::ffn, {}}, {5, Axis::none, {}}}, Role::routed_expert),
      0, 1);
  for (int rank = 0; rank < 16; ++rank) {
    const std::int64_t etp = rank % 2, ep = rank / 2 % 4;
    REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(Interval{2 * ep, 2 * ep + 2}));
    REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(Interval{3 * etp, 3 * etp + 3}));
  }
  REQUIRE(layout.held_elements() == 2 * 8 * 6 * 5);
}

TEST_CASE("megatron: what a model keeps per expert lies with the experts, whatever its role",
          "[models][megatron]") {
  // gpt-oss lists expert biases with the small tensors. They were once cut by the dense grid, where
  // the expert dim fell to cp, which holds copies of everything else.
  const ModelSpec model = catalog_model("gpt-oss-120b");
  const auto side = megatron(model, degrees(32, 4, 2, 1, 16, 2));
  const Layout down =
      layout_of(*side, tensor_named(model, "model.layers.0.mlp.experts.down_proj_bias"));
  const Layout gate_up =
      layout_of(*side, tensor_named(model, "model.layers.0.mlp.experts.gate_up_proj_bias"));
  for (int rank = 0; rank < 32; ++rank) {
    const std::int64_t etp = rank % 2, ep = rank / 2;  // 128 experts / 16 = 8 each
    REQUIRE(held(down, Rank(rank), 0) == IntervalSet(Interval{8 * ep, 8 * ep + 8}));
    REQUIRE(held(down, Rank(rank), 1) == IntervalSet(Interval{0, 2880}));
    REQUIRE(held(gate_up, Rank(rank), 0) == IntervalSet(Interval{8 * ep, 8 * ep + 8}));
    REQUIRE(held(gate_up, Rank(rank), 1) == IntervalSet(Interval{2880 * etp, 2880 * etp + 2880}));
  }
}

TEST_CASE("megatron: a dense model ignores the expert degrees", "[models][megatron]") {
  const auto side = megatron(small_model(2), degrees(8, 2, 1, 1, 4, 4));
  REQUIRE(side->layout(tensor({{8, Axis::ffn, {}}}), 0, 1).held_elements() == 4 * 8);
}

TEST_CASE("megatron: the embedding is on the first stage, norm, head and MTP on the last",
          "[models][megatron]") {
  const ModelSpec model = catalog_model("deepseek-v3", {.mtp = true});
  MegatronOptions options = degrees(16, 1, 1, 16);
  options.first_stage_layers = 3;
  options.last_stage_layers = 2;
  const auto side = megatron(model, options);
  REQUIRE(side->stage_of(tensor_named(model, "model.embed_tokens.weight")) == 0);
  REQUIRE(side->stage_of(tensor_named(model, "model.norm.weight")) == 15);
  REQUIRE(side->stage_of(tensor_named(model, "lm_head.weight")) == 15);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.61.eh_proj.weight")) == 15);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.2.input_layernorm.weight")) == 0);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.3.input_layernorm.weight")) == 1);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.58.input_layernorm.weight")) == 14);
  REQUIRE(side->stage_of(tensor_named(model, "model.layers.59.input_layernorm.weight")) == 15);
}

TEST_CASE("megatron: rules per tensor", "[models][megatron]") {
  const ModelSpec model = catalog_model("deepseek-v3", {.mtp = true});
  const auto side = megatron(model, degrees(8, 8, 1, 1, 8, 1));
  const auto share = [&](const std::string& name) {
    const Layout layout = layout_of(*side, tensor_named(model, name));
    return std::pair(held(layout, Rank(3), 0),
                     layout.held_elements() / tensor_named(model, name).elements());
  };
  const auto whole = [](std::int64_t n) {
    return std::pair(IntervalSet(Interval{0, n}), std::int64_t{8});
  };
  const auto eighth = [](std::int64_t n) {
    return std::pair(IntervalSet(Interval{n / 8 * 3, n / 8 * 4}), std::int64_t{1});
  };
  const std::string attention = "model.layers.4.self_attn.", mlp = "model.layers.4.mlp.";
  REQUIRE(share(attention + "q_a_proj.weight") == whole(1536));
  REQUIRE(share(attention + "kv_a_proj_with_mqa.weight") == whole(576));
  REQUIRE(share(attention + "q_a_layernorm.weight") == whole(1536));
  REQUIRE(share(attention + "q_b_proj.weight") == eighth(128 * 192));
  REQUIRE(share(attention + "kv_b_proj.weight") == eighth(128 * 256));
  // Row-parallel: all rows, an eighth of the columns.
  REQUIRE(share(attention + "o_proj.weight") ==
          std::pair(IntervalSet(Interval{0, 7168}), std::int64_t{1}));
  REQUIRE(share("model.layers.0.mlp.gate_proj.weight") == eighth(18432));
  REQUIRE(share(mlp + "shared_experts.up_proj.weight") == eighth(2048));
  REQUIRE(share(mlp + "gate.weight") == whole(256));
  REQUIRE(share(mlp + "gate.e_score_correction_bias") == whole(256));
  REQUIRE(share(mlp + "experts.{expert}.gate_proj.weight") == eighth(256));  // experts
  REQUIRE(share("model.norm.weight") == whole(7168));
  REQUIRE(share("model.layers.61.eh_proj.weight") == eighth(7168));
}

TEST_CASE("megatron: the fused QKV matrix is cut as it stands", "[models][megatron]") {
  // Whole groups, parts of groups and parts of heads.
  for (const bool gated : {false, true}) {
    for (const int kv : {1, 2, 3, 4, 8}) {
      for (const int ratio : {1, 2, 5, 8}) {
        for (const int ranks : {1, 2, 3, 4, 6, 8, 16, 24}) {
          const HeadGroups heads{kv * ratio, kv, 12, gated};
          if (kv * (ratio * (gated ? 2 : 1) + 2) * 12 % ranks == 0)
            require_cut_of_fused_matrix(heads, ranks);
        }
      }
    }
  }
  REQUIRE(refusal([] {
            megatron_qkv_rows({64, 2, 128, false}, 3, 0);
          }) == "a fused QKV matrix of 8704 rows does not divide evenly into 3");
}

TEST_CASE("megatron: gated attention of Qwen3.8 at TP8, row by row", "[models][megatron]") {
  const ModelSpec model = catalog_model("qwen3.8-2.4t-a95b");
  REQUIRE(model.heads == HeadGroups{64, 4, 256, true});
  require_cut_of_fused_matrix(model.heads, 8);

  // Groups of (16 + 16 + 2) heads x 256 = 8704 rows, 34816 in all, 4352 a rank: half a group, 17
  // heads. Rank 0: the 16 queries of group 0 and the gate of its head 0, that is checkpoint rows
  // 512 h .. 512 h + 255 of each head h and 256 .. 511. Rank 1: the other 15 gates, key and value.
  const QkvRows first = megatron_qkv_rows(model.heads, 8, 0),
                second = megatron_qkv_rows(model.heads, 8, 1);
  std::vector<Interval> queries{{0, 512}}, gates;
  for (std::int64_t h = 1; h < 16; ++h) {
    queries.push_back({512 * h, 512 * h + 256});
    gates.push_back({512 * h + 256, 512 * h + 512});
  }
  REQUIRE(first.q == rows(queries));
  REQUIRE(first.k.empty());
  REQUIRE(first.v.empty());
  REQUIRE(second.q == rows(gates));
  REQUIRE(second.k == rows({{0, 256}}));
  REQUIRE(second.v == rows({{0, 256}}));

  // And the layouts use it.
  const auto side = megatron(model, degrees(8, 8, 1, 1, 8, 1));
  const Layout q = layout_of(*side, tensor_named(model, "model.layers.3.self_attn.q_proj.weight"));
  const Layout k = layout_of(*side, tensor_named(model, "model.layers.3.self_attn.k_proj.weight"));
  for (int rank = 0; rank < 8; ++rank) {
    REQUIRE(held(q, Rank(rank), 0) == megatron_qkv_rows(model.heads, 8, rank).q);
    REQUIRE(held(k, Rank(rank), 0) == megatron_qkv_rows(model.heads, 8, rank).k);
  }
}

TEST_CASE("megatron: a checkpoint that fuses q, k and v itself is cut like one that does not",
          "[models][megatron]") {
  // Ling: one matrix q | k | v of 64 + 8 + 8 heads x 128.
  const ModelSpec model = catalog_model("ling-1t");
  const TensorSpec& fused = tensor_named(model, "model.layers.0.attention.query_key_value.weight");
  for (const int ranks : {2, 8, 16}) {
    const auto side = megatron(model, degrees(ranks, ranks, 1, 1, 1, 1));
    const Layout layout = layout_of(*side, fused);
    for (int rank = 0; rank < ranks; ++rank) {
      CAPTURE(ranks, rank);
      const QkvRows expected = megatron_qkv_rows(model.heads, ranks, rank);
      REQUIRE(held(layout, Rank(rank), 0) ==
              stack({expected.q, expected.k, expected.v}, {64 * 128, 8 * 128, 8 * 128}));
    }
  }
}

}  // namespace refit::test
