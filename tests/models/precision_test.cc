#include "models/precision.h"

#include <catch2/catch.hpp>

#include "tests/models/engine_case.h"

namespace refit::test {
namespace {

ElementForm form_in(const ModelSpec& model, const TensorSpec& tensor, const Precision& precision) {
  return form_of(tensor, precision, main_dtype(model));
}

std::vector<std::int64_t> shape_of(const TensorSpec& tensor) {
  std::vector<std::int64_t> shape;
  for (const TensorDim& dim : tensor.dims) shape.push_back(dim.size);
  return shape;
}

std::vector<StoredTensor> stored(const ModelSpec& model, const std::string& name, Format format) {
  const TensorSpec& tensor = tensor_named(model, name);
  return stored_as(tensor, form_in(model, tensor, {format, {}}));
}

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

}  // namespace

TEST_CASE("precision: blockwise FP8 adds a table of FP32 scales, a tensor of its own",
          "[models][precision]") {
  const ModelSpec model = catalog_model("deepseek-v3");
  SECTION("a dense projection") {
    const auto parts = stored(model, "model.layers.0.mlp.gate_proj.weight", Format::fp8_blockwise);
    REQUIRE(parts.size() == 2);
    REQUIRE(parts[0].tensor.name == "model.layers.0.mlp.gate_proj.weight");
    REQUIRE(parts[0].tensor.dtype == Dtype::f8_e4m3);
    REQUIRE(shape_of(parts[0].tensor) == std::vector<std::int64_t>{18432, 7168});
    REQUIRE(parts[1].tensor.name == "model.layers.0.mlp.gate_proj.weight_scale_inv");
    REQUIRE(parts[1].tensor.dtype == Dtype::f32);
    REQUIRE(shape_of(parts[1].tensor) == std::vector<std::int64_t>{144, 56});
    // 4 bytes for 128 * 128 elements of a byte: 0.0244 %.
    REQUIRE(static_cast<double>(parts[1].tensor.bytes()) /
                static_cast<double>(parts[0].tensor.bytes()) ==
            Approx(0.000244140625));
  }
  SECTION("576 rows are 4.5 blocks, which takes 5 rows of scales") {
    const auto parts =
        stored(model, "model.layers.0.self_attn.kv_a_proj_with_mqa.weight", Format::fp8_blockwise);
    REQUIRE(shape_of(parts[1].tensor) == std::vector<std::int64_t>{5, 56});
  }
  SECTION("experts of a layer are one tensor, blocks are inside each expert") {
    const auto parts = stored(model, "model.layers.3.mlp.experts.{expert}.down_proj.weight",
                              Format::fp8_blockwise);
    REQUIRE(shape_of(parts[1].tensor) == std::vector<std::int64_t>{256, 56, 16});
    REQUIRE(parts[1].tensor.experts == 256);
  }
}

TEST_CASE("precision: embeddings, head, norms, routers, convolutions and biases have no blocks",
          "[models][precision]") {
  const auto stays = [](const ModelSpec& model, const std::string& name) {
    CAPTURE(name);
    const TensorSpec& tensor = tensor_named(model, name);
    for (const Format format : {Format::fp8_blockwise, Format::mxfp8}) {
      CHECK(form_in(model, tensor, {format, {}}) == ElementForm{Format::as_model, Dtype::bf16});
    }
  };
  const ModelSpec deepseek = catalog_model("deepseek-v3");
  for (const char* name :
       {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight",
        "model.layers.3.mlp.gate.weight", "model.layers.3.mlp.gate.e_score_correction_bias",
        "model.layers.3.self_attn.q_a_layernorm.weight"}) {
    stays(deepseek, name);
  }
  const ModelSpec hybrid = catalog_model("qwen3.5-397b-a17b");
  for (const char* name : {"model.language_model.layers.0.linear_attn.conv1d.weight",
                           "model.language_model.layers.0.linear_attn.A_log",
                           // One row per head: too few for blocks.
                           "model.language_model.layers.0.linear_attn.in_proj_a.weight",
                           "model.language_model.layers.0.mlp.shared_expert_gate.weight"}) {
    stays(hybrid, name);
  }
  stays(catalog_model("gpt-oss-120b"), "model.layers.0.mlp.experts.gate_up_proj_bias");
}

TEST_CASE("precision: published sizes of FP8 and MXFP4 checkpoints come out",
          "[models][precision]") {
  SECTION("DeepSeek-V3: 688.6 GB with its prediction module and that one's embedding and head") {
    ModelSpec model = catalog_model("deepseek-v3", {.mtp = true});
    // 129280 * 7168 each, in BF16.
    const std::int64_t copies = 2 * std::int64_t{129280} * 7168 * 2;
    const std::int64_t bytes = in_precision(model, {Format::fp8_blockwise, {}}).bytes() + copies;
    REQUIRE(gigabytes(bytes) == Approx(688.6).margin(0.05));
  }
  SECTION("Kimi K2: 1029.2 GB") {
    const ModelSpec model = catalog_model("kimi-k2");
    REQUIRE(gigabytes(in_precision(model, {Format::fp8_blockwise, {}}).bytes()) ==
            Approx(1029.2).margin(0.05));
  }
  SECTION("gpt-oss-120b: 65.2 GB") {
    const ModelSpec model = catalog_model("gpt-oss-120b");
    REQUIRE(gigabytes(in_precision(model, {Format::mxfp4, {}}).bytes()) ==
            Approx(65.2).margin(0.05));
  }
}

TEST_CASE("precision: MXFP4 is 17 bytes for 32 elements of an expert, and of nothing else",
          "[models][precision]") {
  const ModelSpec model = catalog_model("kimi-k3");
  // BF16 experts are 5,445,481,660,416 B: half as many elements, / 32 * 17.
  const std::int64_t elements = 5'445'481'660'416 / 2;
  REQUIRE(model.bytes(Role::routed_expert) == 2 * elements);
  const ModelSpec packed = in_precision(model, {Format::mxfp4, {}});
  REQUIRE(packed.bytes(Role::routed_expert) == 1'446'456'066'048);
  REQUIRE(elements / 32 * 17 == 1'446'456'066'048);
  REQUIRE(packed.bytes() - packed.bytes(Role::routed_expert) ==
          model.bytes() - model.bytes(Role::routed_expert));
}

TEST_CASE("precision: blocks of 32 lie along the dim that a projection sums over",
          "[models][precision]") {
  SECTION("the last one") {
    const ModelSpec model = catalog_model("qwen3-30b-a3b");
    const auto parts =
        stored(model, "model.layers.0.mlp.experts.{expert}.down_proj.weight", Format::mxfp8);
    REQUIRE(shape_of(parts[0].tensor) == std::vector<std::int64_t>{128, 2048, 768});
    REQUIRE(shape_of(parts[1].tensor) == std::vector<std::int64_t>{128, 2048, 24});
    REQUIRE(parts[1].tensor.dtype == Dtype::f8_e8m0);
    REQUIRE(parts[1].tensor.name == "model.layers.0.mlp.experts.{expert}.down_proj.weight_scale");
  }
  SECTION("the second of three where experts are stored [in, out]") {
    const ModelSpec model = catalog_model("gpt-oss-120b");
    const auto up = stored(model, "model.layers.0.mlp.experts.gate_up_proj", Format::mxfp4);
    REQUIRE(up[0].tensor.dtype == Dtype::u8);
    REQUIRE(shape_of(up[0].tensor) == std::vector<std::int64_t>{128, 1440, 5760});
    REQUIRE(shape_of(up[1].tensor) == std::vector<std::int64_t>{128, 90, 5760});
    const auto down = stored(model, "model.layers.0.mlp.experts.down_proj", Format::mxfp4);
    REQUIRE(shape_of(down[1].tensor) == std::vector<std::int64_t>{128, 90, 2880});
  }
}

TEST_CASE("precision: a cast changes what has the model's type and leaves FP32 tensors",
          "[models][precision]") {
  const ModelSpec model = catalog_model("deepseek-v3", {.fp32_small_tensors = true});
  const ModelSpec half = in_precision(model, {Format::f16, {}});
  REQUIRE(half.bytes() == model.bytes());
  REQUIRE(tensor_named(half, "lm_head.weight").dtype == Dtype::f16);
  REQUIRE(tensor_named(half, "model.layers.3.mlp.gate.e_score_correction_bias").dtype ==
          Dtype::f32);
  const ModelSpec plain = catalog_model("qwen3-8b");
  REQUIRE(in_precision(plain, {Format::f32, {}}).bytes() == 2 * plain.bytes());
  REQUIRE(in_precision(plain, {}).bytes() == plain.bytes());
}

TEST_CASE("precision: roles say which weights a format with scales is for", "[models][precision]") {
  const ModelSpec model = catalog_model("qwen3-30b-a3b");
  const Precision experts{Format::fp8_blockwise, {Role::routed_expert}};
  const ModelSpec packed = in_precision(model, experts);
  REQUIRE(tensor_named(packed, "model.layers.0.self_attn.q_proj.weight").dtype == Dtype::bf16);
  REQUIRE(tensor_named(packed, "model.layers.0.mlp.experts.{expert}.up_proj.weight").dtype ==
          Dtype::f8_e4m3);
}

}  // namespace refit::test
