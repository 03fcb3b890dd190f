// Who holds each row, row by row: every rule of the tensor parallel table beside its formula in
// heads, groups, pairs or equal parts.
#include <functional>

#include <catch2/catch.hpp>

#include "tests/models/megatron_case.h"
#include "tests/models/row_cuts.h"

namespace refit::test {
namespace {

constexpr int kAll = -1;

// The rank of `n` that holds a row (or column) of a dim; kAll: each does.
using Owner = std::function<int(std::int64_t row, int n)>;

// `count` units (heads, groups, parts) of `rows` each, dealt out in order.
Owner units(std::int64_t count, std::int64_t rows) {
  return [=](std::int64_t row, int n) { return static_cast<int>(row / rows / (count / n)); };
}

// One behind the other, each with an owner of its own.
Owner behind(std::vector<std::pair<std::int64_t, Owner>> parts) {
  return [parts](std::int64_t row, int n) {
    for (const auto& [rows, owner] : parts) {
      if (row < rows) return owner(row, n);
      row -= rows;
    }
    FAIL("row beyond the last part");
    return kAll;
  };
}

Owner whole() {
  return [](std::int64_t, int) { return kAll; };
}

struct Rule {
  std::string tensor;
  int dim;
  Owner owner;
};

void require_rules(const char* name, const std::vector<int>& tensor_degrees,
                   const std::vector<Rule>& rules) {
  const ModelSpec model = catalog_model(name, {.mtp = true});
  for (const int n : tensor_degrees) {
    // Twice as many ranks: copies hold the same.
    const auto side = megatron(model, degrees(2 * n, n, 1, 1, 1, n));
    for (const Rule& rule : rules) {
      CAPTURE(name, n, rule.tensor, rule.dim);
      const TensorSpec& tensor = tensor_named(model, rule.tensor);
      const Layout layout = layout_of(*side, tensor);
      std::vector<Rows> expected(static_cast<std::size_t>(n));
      for (std::int64_t row = 0; row < tensor.dims[static_cast<std::size_t>(rule.dim)].size;
           ++row) {
        const int owner = rule.owner(row, n);
        for (int rank = 0; rank < n; ++rank) {
          if (owner == kAll || owner == rank) {
            expected[static_cast<std::size_t>(rank)].push_back(row);
          }
        }
      }
      for (int rank = 0; rank < 2 * n; ++rank) {
        const bool same = rows_of(held(layout, Rank(rank), rule.dim)) ==
                          expected[static_cast<std::size_t>(rank % n)];
        REQUIRE(same);  // printed, these would be tens of thousands of rows
      }
    }
  }
}

}  // namespace

TEST_CASE("megatron rules: latent attention, dense networks and shared experts",
          "[models][megatron][oracle]") {
  const std::string at = "model.layers.4.self_attn.", mlp = "model.layers.4.mlp.";
  require_rules("deepseek-v3", {1, 2, 8, 32},
                {{at + "q_a_proj.weight", 0, whole()},
                 {at + "q_a_layernorm.weight", 0, whole()},
                 {at + "q_b_proj.weight", 0, units(128, 192)},
                 {at + "q_b_proj.weight", 1, whole()},
                 {at + "kv_a_proj_with_mqa.weight", 0, whole()},
                 {at + "kv_a_layernorm.weight", 0, whole()},
                 {at + "kv_b_proj.weight", 0, units(128, 256)},
                 {at + "o_proj.weight", 0, whole()},
                 {at + "o_proj.weight", 1, units(128, 128)},
                 {"model.layers.0.mlp.gate_proj.weight", 0, units(18432, 1)},
                 {"model.layers.0.mlp.up_proj.weight", 0, units(18432, 1)},
                 {"model.layers.0.mlp.down_proj.weight", 1, units(18432, 1)},
                 {mlp + "shared_experts.gate_proj.weight", 0, units(2048, 1)},
                 {mlp + "shared_experts.down_proj.weight", 1, units(2048, 1)},
                 {mlp + "gate.weight", 0, whole()},
                 {mlp + "gate.e_score_correction_bias", 0, whole()},
                 {mlp + "experts.{expert}.up_proj.weight", 1, units(2048, 1)},
                 {mlp + "experts.{expert}.down_proj.weight", 2, units(2048, 1)},
                 {"model.layers.61.eh_proj.weight", 0, units(7168, 1)},
                 {"model.layers.61.eh_proj.weight", 1, whole()},
                 {"model.layers.61.enorm.weight", 0, whole()}});
}

TEST_CASE("megatron rules: Mamba-2 and latent experts", "[models][megatron][oracle]") {
  const Owner heads = units(128, 64), groups = units(8, 128);  // Super: 128 x 64, 8 x 128
  const std::string at = "backbone.layers.0.mixer.", moe = "backbone.layers.1.mixer.";
  require_rules(
      "nemotron-3-super-120b-a12b", {1, 2, 4, 8},
      {{at + "in_proj.weight", 0,
        behind(
            {{8192, heads}, {8192, heads}, {1024, groups}, {1024, groups}, {128, units(128, 1)}})},
       {at + "conv1d.weight", 0, behind({{8192, heads}, {1024, groups}, {1024, groups}})},
       {at + "conv1d.bias", 0, behind({{8192, heads}, {1024, groups}, {1024, groups}})},
       {at + "A_log", 0, units(128, 1)},
       {at + "D", 0, units(128, 1)},
       {at + "dt_bias", 0, units(128, 1)},
       {at + "norm.weight", 0, heads},
       {at + "out_proj.weight", 1, heads},
       {"backbone.layers.0.norm.weight", 0, whole()},
       {moe + "fc1_latent_proj.weight", 0, whole()},
       {moe + "fc2_latent_proj.weight", 1, whole()},
       {moe + "experts.{expert}.up_proj.weight", 1, units(2688, 1)},
       {moe + "shared_experts.down_proj.weight", 1, units(5376, 1)}});
}

TEST_CASE("megatron rules: gated delta nets and fused experts", "[models][megatron][oracle]") {
  const Owner keys = units(16, 128), values = units(64, 128);  // Qwen3.5
  const std::string at = "model.language_model.layers.0.linear_attn.",
                    mlp = "model.language_model.layers.0.mlp.";
  require_rules(
      "qwen3.5-397b-a17b", {1, 2, 8, 16},
      {{at + "in_proj_qkv.weight", 0, behind({{2048, keys}, {2048, keys}, {8192, values}})},
       {at + "conv1d.weight", 0, behind({{2048, keys}, {2048, keys}, {8192, values}})},
       {at + "in_proj_z.weight", 0, values},
       {at + "in_proj_b.weight", 0, units(64, 1)},
       {at + "in_proj_a.weight", 0, units(64, 1)},
       {at + "A_log", 0, units(64, 1)},
       {at + "norm.weight", 0, whole()},
       {at + "out_proj.weight", 1, values},
       {mlp + "shared_expert_gate.weight", 0, whole()},
       {mlp + "experts.gate_up_proj", 1, behind({{1024, units(1024, 1)}, {1024, units(1024, 1)}})},
       {mlp + "experts.down_proj", 2, units(1024, 1)}});
}

TEST_CASE("megatron rules: Kimi delta attention", "[models][megatron][oracle]") {
  const Owner heads = units(96, 128);
  const std::string at = "language_model.model.layers.0.self_attn.",
                    latent = "language_model.model.layers.3.self_attn.";
  require_rules("kimi-k3", {1, 3, 8, 32},
                {{at + "q_proj.weight", 0, heads},
                 {at + "g_proj.weight", 0, heads},
                 {at + "v_conv1d.weight", 0, heads},
                 {at + "f_a_proj.weight", 0, whole()},
                 {at + "f_b_proj.weight", 0, heads},
                 {at + "b_proj.weight", 0, units(96, 1)},
                 {at + "A_log", 0, units(96, 1)},
                 {at + "dt_bias", 0, heads},
                 {at + "o_norm.weight", 0, whole()},
                 {at + "o_proj.weight", 1, heads},
                 {latent + "g_proj.weight", 0, heads},
                 {"language_model.model.layers.0.mlp_res_proj.weight", 1, whole()}});
}

TEST_CASE("megatron rules: lightning attention, sinks, interleaved pairs, full-width norms",
          "[models][megatron][oracle]") {
  const std::string at = "model.layers.0.self_attn.";
  require_rules("minimax-m1", {1, 4, 16},
                {{at + "qkv_proj.weight", 0, units(64, 3 * 128)},
                 {at + "output_gate.weight", 0, units(64, 128)},
                 {at + "norm.weight", 0, units(64, 128)},
                 {at + "out_proj.weight", 1, units(64, 128)}});
  require_rules(
      "minimax-m2", {1, 2, 8},
      {{at + "q_norm.weight", 0, units(48, 128)}, {at + "k_norm.weight", 0, units(8, 128)}});
  require_rules("gpt-oss-120b", {1, 2, 8},
                {{at + "sinks", 0, units(64, 1)},
                 {at + "o_proj.bias", 0, whole()},
                 {at + "q_proj.bias", 0, units(64, 64)},
                 {at + "v_proj.bias", 0, units(8, 64)},
                 // gate and up of a column alternate: pairs stay together.
                 {"model.layers.0.mlp.experts.gate_up_proj", 2, units(2880, 2)},
                 {"model.layers.0.mlp.experts.gate_up_proj_bias", 1, units(2880, 2)},
                 {"model.layers.0.mlp.experts.down_proj", 1, units(2880, 1)},
                 {"model.layers.0.mlp.experts.down_proj_bias", 1, whole()}});
}

TEST_CASE("megatron: a tied embedding is on the first stage alone", "[models][megatron]") {
  const ModelSpec model = parse_hf_config(
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96,
          "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4,
          "vocab_size": 512, "tie_word_embeddings": true})",
      "tied");
  const auto side = megatron(model, degrees(4, 2, 1, 2));
  std::int64_t rows = 0;
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.dims.front().axis != Axis::vocab) continue;
    REQUIRE(side->stage_of(tensor) == 0);
    rows += layout_of(*side, tensor).held_elements() / 64;
  }
  REQUIRE(rows == 512);
}

}  // namespace refit::test
