#include <algorithm>

#include <catch2/catch.hpp>

#include "models/import/hf_config.h"

using namespace refit;

namespace {

const TensorSpec& find(const ModelSpec& model, const std::string& name) {
  const auto at = std::find_if(model.tensors.begin(), model.tensors.end(),
                               [&](const TensorSpec& tensor) { return tensor.name == name; });
  if (at == model.tensors.end()) FAIL("no tensor " << name);
  return *at;
}

using Dims = std::vector<TensorDim>;

TensorDim none(std::int64_t size) { return {size, Axis::none, {}}; }
TensorDim q_head(std::int64_t size, std::vector<std::int64_t> blocks = {}) {
  return {size, Axis::q_head, std::move(blocks)};
}
TensorDim kv_head(std::int64_t size) { return {size, Axis::kv_head, {}}; }
TensorDim ffn(std::int64_t size, std::vector<std::int64_t> blocks = {}) {
  return {size, Axis::ffn, std::move(blocks)};
}
TensorDim expert(std::int64_t size) { return {size, Axis::expert, {}}; }

}  // namespace

TEST_CASE("tags: grouped attention is cut by query heads and by key/value heads", "[models]") {
  const ModelSpec model = catalog_model("qwen3-235b-a22b");  // 64 and 4 heads of 128
  const std::string at = "model.layers.93.self_attn.";
  REQUIRE(find(model, at + "q_proj.weight").dims == Dims{q_head(8192), none(4096)});
  REQUIRE(find(model, at + "k_proj.weight").dims == Dims{kv_head(512), none(4096)});
  REQUIRE(find(model, at + "v_proj.weight").dims == Dims{kv_head(512), none(4096)});
  REQUIRE(find(model, at + "o_proj.weight").dims == Dims{none(4096), q_head(8192)});
  REQUIRE(find(model, at + "q_norm.weight").dims == Dims{none(128)});
  REQUIRE(find(model, at + "q_proj.weight").part == "q");
  REQUIRE(find(model, at + "o_proj.weight").part == "o");
  REQUIRE(find(model, at + "k_norm.weight").role == Role::attention);
  REQUIRE(find(model, at + "q_proj.weight").layer == 93);
  REQUIRE(find(model, "model.embed_tokens.weight").dims ==
          Dims{{151936, Axis::vocab, {}}, none(4096)});
  REQUIRE(find(model, "lm_head.weight").dims == Dims{{151936, Axis::vocab, {}}, none(4096)});
  REQUIRE_FALSE(find(model, "model.norm.weight").layer.has_value());
}

TEST_CASE("tags: biases follow the rows of their matrices", "[models]") {
  const ModelSpec glm = catalog_model("glm-4.5");  // 96 and 8 heads of 128
  REQUIRE(find(glm, "model.layers.0.self_attn.q_proj.bias").dims == Dims{q_head(12288)});
  REQUIRE(find(glm, "model.layers.0.self_attn.v_proj.bias").dims == Dims{kv_head(1024)});
  const ModelSpec oss = catalog_model("gpt-oss-120b");
  REQUIRE(find(oss, "model.layers.0.self_attn.o_proj.bias").dims == Dims{none(2880)});
  REQUIRE(find(oss, "model.layers.0.self_attn.sinks").dims == Dims{q_head(64)});
}

TEST_CASE("tags: norms over the full width are cut like the heads they scale", "[models]") {
  const ModelSpec model = catalog_model("minimax-m2");  // 48 and 8 heads of 128
  REQUIRE(find(model, "model.layers.0.self_attn.q_norm.weight").dims == Dims{q_head(6144)});
  REQUIRE(find(model, "model.layers.0.self_attn.k_norm.weight").dims == Dims{kv_head(1024)});
}

TEST_CASE("tags: gated queries have twice the rows of the output's columns", "[models]") {
  const ModelSpec model = catalog_model("qwen3.8-2.4t-a95b");  // layer 3 looks back; 64 x 256
  REQUIRE(find(model, "model.layers.3.self_attn.q_proj.weight").dims ==
          Dims{q_head(32768), none(8192)});
  REQUIRE(find(model, "model.layers.3.self_attn.o_proj.weight").dims ==
          Dims{none(8192), q_head(16384)});
}

TEST_CASE("tags: one matrix for q, k and v names its parts as blocks", "[models]") {
  const ModelSpec model = catalog_model("ling-1t");  // 64 and 8 heads of 128
  const TensorSpec& qkv = find(model, "model.layers.0.attention.query_key_value.weight");
  REQUIRE(qkv.dims == Dims{q_head(10240, {8192, 1024, 1024}), none(8192)});
  REQUIRE(qkv.part == "qkv");
}

TEST_CASE("tags: latent attention is cut behind its low-rank projections", "[models]") {
  const ModelSpec model = catalog_model("deepseek-v3");
  const std::string at = "model.layers.0.self_attn.";
  REQUIRE(find(model, at + "q_a_proj.weight").dims == Dims{none(1536), none(7168)});
  REQUIRE(find(model, at + "q_b_proj.weight").dims == Dims{q_head(128 * 192), none(1536)});
  REQUIRE(find(model, at + "kv_a_proj_with_mqa.weight").dims == Dims{none(576), none(7168)});
  REQUIRE(find(model, at + "kv_b_proj.weight").dims == Dims{q_head(128 * 256), none(512)});
  REQUIRE(find(model, at + "o_proj.weight").dims == Dims{none(7168), q_head(128 * 128)});
  REQUIRE(find(model, at + "kv_b_proj.weight").part == "kv_b");
  REQUIRE(find(catalog_model("kimi-k3"), "language_model.model.layers.3.self_attn.g_proj.weight")
              .dims == Dims{q_head(96 * 128), none(7168)});
}

TEST_CASE("tags: experts listed one by one are one spec with the expert first", "[models]") {
  const ModelSpec model = catalog_model("deepseek-v3");
  const std::string at = "model.layers.3.mlp.";
  const TensorSpec& gate = find(model, at + "experts.{expert}.gate_proj.weight");
  REQUIRE(gate.dims == Dims{expert(256), ffn(2048), none(7168)});
  REQUIRE(gate.experts == 256);
  REQUIRE(gate.part == "gate");
  REQUIRE(gate.role == Role::routed_expert);
  REQUIRE(find(model, at + "experts.{expert}.down_proj.weight").dims ==
          Dims{expert(256), none(7168), ffn(2048)});
  REQUIRE(find(model, at + "gate.weight").dims == Dims{none(256), none(7168)});
  REQUIRE(find(model, at + "gate.e_score_correction_bias").role == Role::router);
  REQUIRE(find(model, at + "shared_experts.down_proj.weight").dims == Dims{none(7168), ffn(2048)});
  REQUIRE(find(model, at + "shared_experts.up_proj.weight").role == Role::shared_expert);
  REQUIRE(find(model, "model.layers.2.mlp.up_proj.weight").role == Role::dense_ffn);
}

TEST_CASE("tags: fused experts are one tensor with gate and up as blocks", "[models]") {
  const ModelSpec model = catalog_model("qwen3.5-397b-a17b");
  const std::string at = "model.language_model.layers.0.mlp.";
  const TensorSpec& gate_up = find(model, at + "experts.gate_up_proj");
  REQUIRE(gate_up.dims == Dims{expert(512), ffn(2048, {1024, 1024}), none(4096)});
  REQUIRE(gate_up.experts == 0);
  REQUIRE(gate_up.part == "gate_up");
  REQUIRE(find(model, at + "experts.down_proj").dims == Dims{expert(512), none(4096), ffn(1024)});
  REQUIRE(find(model, at + "shared_expert_gate.weight").dims == Dims{none(1), none(4096)});
}

TEST_CASE("tags: gpt-oss stores experts transposed, gate and up alternating", "[models]") {
  const ModelSpec model = catalog_model("gpt-oss-120b");
  const std::string at = "model.layers.0.mlp.experts.";
  REQUIRE(find(model, at + "gate_up_proj").dims == Dims{expert(128), none(2880), ffn(5760)});
  REQUIRE(find(model, at + "down_proj").dims == Dims{expert(128), ffn(2880), none(2880)});
  REQUIRE(find(model, at + "gate_up_proj_bias").dims == Dims{expert(128), ffn(5760)});
  REQUIRE(find(model, at + "down_proj_bias").dims == Dims{expert(128), none(2880)});
}

TEST_CASE("tags: latent experts work at the latent width, without a gate", "[models]") {
  const ModelSpec model = catalog_model("nemotron-3-ultra-550b-a55b");
  const std::string at = "backbone.layers.1.mixer.";
  REQUIRE(find(model, at + "experts.{expert}.up_proj.weight").dims ==
          Dims{expert(512), ffn(5120), none(2048)});
  REQUIRE(find(model, at + "fc1_latent_proj.weight").dims == Dims{none(2048), none(8192)});
  REQUIRE(find(model, at + "fc2_latent_proj.weight").role == Role::latent_projection);
  for (const TensorSpec& tensor : model.tensors) REQUIRE(tensor.part != "gate");
}

TEST_CASE("tags: Mamba-2 names z, x, B, C and dt as blocks", "[models]") {
  const ModelSpec model = catalog_model("nemotron-3-ultra-550b-a55b");  // 256 x 64, 8 x 128
  const std::string at = "backbone.layers.0.mixer.";
  REQUIRE(find(model, at + "in_proj.weight").dims ==
          Dims{q_head(35072, {16384, 16384, 1024, 1024, 256}), none(8192)});
  REQUIRE(find(model, at + "conv1d.weight").dims ==
          Dims{q_head(18432, {16384, 1024, 1024}), none(1), none(4)});
  REQUIRE(find(model, at + "conv1d.bias").dims == Dims{q_head(18432, {16384, 1024, 1024})});
  REQUIRE(find(model, at + "norm.weight").dims == Dims{q_head(16384)});
  REQUIRE(find(model, at + "A_log").dims == Dims{q_head(256)});
  REQUIRE(find(model, at + "out_proj.weight").dims == Dims{none(8192), q_head(16384)});
  REQUIRE(find(model, at + "in_proj.weight").part == "in_proj");
  REQUIRE(find(model, at + "in_proj.weight").role == Role::linear_attention);
}

TEST_CASE("tags: the gated delta net keeps q, k and v as blocks of one matrix", "[models]") {
  const ModelSpec model = catalog_model("qwen3.8-2.4t-a95b");  // keys 16 x 128, values 128 x 128
  const std::string at = "model.layers.0.linear_attn.";
  REQUIRE(find(model, at + "in_proj_qkv.weight").dims ==
          Dims{q_head(20480, {2048, 2048, 16384}), none(8192)});
  REQUIRE(find(model, at + "in_proj_z.weight").dims == Dims{q_head(16384), none(8192)});
  REQUIRE(find(model, at + "in_proj_a.weight").dims == Dims{q_head(128), none(8192)});
  REQUIRE(find(model, at + "conv1d.weight").dims ==
          Dims{q_head(20480, {2048, 2048, 16384}), none(1), none(4)});
  REQUIRE(find(model, at + "norm.weight").dims == Dims{none(128)});
  REQUIRE(find(model, at + "out_proj.weight").dims == Dims{none(8192), q_head(16384)});
}

TEST_CASE("tags: Kimi delta attention replicates only its first gate and its norm", "[models]") {
  const ModelSpec model = catalog_model("kimi-k3");
  const std::string at = "language_model.model.layers.0.self_attn.";
  REQUIRE(find(model, at + "q_proj.weight").dims == Dims{q_head(12288), none(7168)});
  REQUIRE(find(model, at + "f_a_proj.weight").dims == Dims{none(128), none(7168)});
  REQUIRE(find(model, at + "f_b_proj.weight").dims == Dims{q_head(12288), none(128)});
  REQUIRE(find(model, at + "b_proj.weight").dims == Dims{q_head(96), none(7168)});
  REQUIRE(find(model, at + "v_conv1d.weight").dims == Dims{q_head(12288), none(1), none(4)});
  REQUIRE(find(model, at + "A_log").dims == Dims{q_head(96)});
  REQUIRE(find(model, at + "o_norm.weight").dims == Dims{none(128)});
  REQUIRE(find(model, at + "o_proj.weight").dims == Dims{none(7168), q_head(12288)});
}

TEST_CASE("tags: layers counted from 1 in the configuration are counted from 0 here", "[models]") {
  // Kimi K3 lists 4, 8, ..., 92 and 93 as latent: here 3, 7, ..., 91 and 92.
  const ModelSpec model = catalog_model("kimi-k3");
  std::vector<int> latent;
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.part == "kv_b") latent.push_back(*tensor.layer);
  }
  REQUIRE(latent.size() == 24);
  REQUIRE(latent.front() == 3);
  REQUIRE(latent[22] == 91);
  REQUIRE(latent[23] == 92);
}

TEST_CASE("tags: lightning attention interleaves q, k and v by head, so it has no blocks",
          "[models]") {
  const ModelSpec model = catalog_model("minimax-m1");
  const std::string at = "model.layers.0.self_attn.";
  REQUIRE(find(model, at + "qkv_proj.weight").dims == Dims{q_head(24576), none(6144)});
  REQUIRE(find(model, at + "norm.weight").dims == Dims{q_head(8192)});
  REQUIRE(find(model, at + "out_proj.weight").dims == Dims{none(6144), q_head(8192)});
  REQUIRE(find(model, "model.layers.7.self_attn.k_proj.weight").dims ==
          Dims{kv_head(1024), none(6144)});
}

TEST_CASE("order: embedding, layers, final norm, head, then prediction modules", "[models]") {
  const ModelSpec model = catalog_model("deepseek-v3", {.mtp = true});
  const auto index = [&](const char* name) { return &find(model, name) - model.tensors.data(); };
  REQUIRE(index("model.embed_tokens.weight") == 0);
  REQUIRE(index("model.layers.60.mlp.gate.weight") < index("model.norm.weight"));
  REQUIRE(index("model.norm.weight") + 1 == index("lm_head.weight"));
  REQUIRE(index("lm_head.weight") + 1 == index("model.layers.61.enorm.weight"));
  REQUIRE(find(model, "model.layers.61.eh_proj.weight").dims == Dims{none(7168), none(14336)});
  REQUIRE(find(model, "model.layers.61.mlp.gate.weight").mtp);
}

TEST_CASE("dtype: small tensors are FP32 only on request, matrices never", "[models]") {
  const ModelSpec model = catalog_model("nemotron-3-nano-30b-a3b", {.fp32_small_tensors = true});
  REQUIRE(find(model, "backbone.layers.0.mixer.A_log").dtype == Dtype::f32);
  REQUIRE(find(model, "backbone.layers.0.mixer.D").dtype == Dtype::f32);
  REQUIRE(find(model, "backbone.layers.0.mixer.dt_bias").dtype == Dtype::bf16);
  REQUIRE(find(model, "backbone.layers.1.mixer.gate.weight").dtype == Dtype::bf16);
  REQUIRE(find(model, "backbone.layers.1.mixer.gate.e_score_correction_bias").dtype == Dtype::f32);

  const ModelSpec half = catalog_model("nemotron-3-nano-30b-a3b", {.dtype = Dtype::f8_e4m3});
  REQUIRE(half.bytes() == half.parameters());
}
