// `precision` and `convert`: what they mean, and one bad input per rule.
#include <fmt/format.h>

#include "models/conversion_totals.h"
#include "scenarios/scale.h"
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

// Lines 4 and 5 are the sides. Experts of Qwen3-30B have 768 rows, 6 blocks of 128.
std::string scenario(const std::string& training, const std::string& generation,
                     const std::string& convert = "", const std::string& model = "qwen3-30b-a3b") {
  return "scenario: s\ncluster: {catalog: dgx_h100, nodes: 3}\nmodel: " + model +
         "\ntraining: {engine: megatron, gpus: 8, expert: 8, expert_tensor: 1" + training +
         "}\ngeneration: {engine: vllm, gpus: 8, first_gpu: 16" + generation + "}\n" +
         (convert.empty() ? "" : "convert: " + convert + "\n");
}

const std::string kFp8 = ", tensor: 2, precision: fp8_blockwise";

// "op side words", one per kind.
std::vector<std::string> kinds(const Scenario& s) {
  std::vector<std::string> lines;
  for (const ConversionTotal& total : conversion_totals(s.refit)) {
    lines.push_back(
        fmt::format("{} {} {}", to_string(total.op), to_string(total.side), total.words));
  }
  return lines;
}

const TensorClass* class_named(const Scenario& s, const std::string& name) {
  for (const TensorClass& c : s.refit.classes) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("without precision both sides have the model's type and all is copied",
          "[scenarios][precision]") {
  const Scenario s = parse_scenario(scenario("", ", tensor: 2"), "s.yaml");
  CHECK(kinds(s).empty());
  CHECK(s.refit.unique_bytes() == s.model->bytes());
}

TEST_CASE("a side's precision decides what travels, and convert where it changes",
          "[scenarios][precision]") {
  const std::string scale = "model.layers.0.mlp.experts.{expert}.gate_proj.weight_scale_inv";
  SECTION("to blockwise FP8 the source converts") {
    const Scenario s = parse_scenario(scenario("", kFp8), "s.yaml");
    CHECK(kinds(s) == Lines{"quantise source bf16 to fp8_blockwise"});
    REQUIRE(class_named(s, scale) != nullptr);
    // [members, experts, 768 / 128, 2048 / 128]; rows are cut as the weight's, 3 blocks a rank.
    const TensorClass& scales = *class_named(s, scale);
    CHECK(scales.shape() == std::vector<std::int64_t>{48, 128, 6, 16});
    CHECK(scales.destination.shard(1)[2] == IntervalSet(Interval{3, 6}));
    CHECK(scales.dtype == Dtype::f32);
    CHECK(s.refit.unique_bytes() < s.model->bytes() * 55 / 100);
  }
  SECTION("unless the key says that the destination does") {
    const Scenario s = parse_scenario(scenario("", kFp8, "destination"), "s.yaml");
    CHECK(kinds(s) == Lines{"quantise destination bf16 to fp8_blockwise"});
    CHECK(class_named(s, scale) == nullptr);
    CHECK(s.refit.unique_bytes() == s.model->bytes());
  }
  SECTION("the receiver quantises to MXFP8") {
    const Scenario s = parse_scenario(scenario("", ", tensor: 2, precision: mxfp8"), "s.yaml");
    CHECK(kinds(s) == Lines{"quantise destination bf16 to mxfp8"});
  }
  SECTION("equal formats are copied") {
    const Scenario s = parse_scenario(scenario(", precision: fp8_blockwise", kFp8), "s.yaml");
    CHECK(kinds(s).empty());
    CHECK(class_named(s, scale) != nullptr);
  }
  SECTION("roles limit a format with scales") {
    const Scenario s = parse_scenario(
        scenario("", ", tensor: 2, precision: {format: fp8_blockwise, roles: [attention]}"),
        "s.yaml");
    CHECK(class_named(s, scale) == nullptr);
    CHECK(class_named(s, "model.layers.0.self_attn.q_proj.weight_scale_inv") != nullptr);
  }
}

TEST_CASE("an engine's own form is converted without being asked for", "[scenarios][precision]") {
  const Scenario s =
      parse_scenario(scenario("", ", tensor: 2", "", "nemotron-3-nano-30b-a3b"), "s.yaml");
  CHECK(kinds(s) == Lines{"negexp destination A_log to A = -exp(A_log) in f32",
                          "cast destination router to f32"});
}

TEST_CASE("a cut inside a block is pinned on the key that makes it", "[scenarios][precision]") {
  // Columns count: `tensor` stands behind first_gpu.
  CHECK(error_of(scenario("", ", tensor: 8, precision: fp8_blockwise")) ==
        "s.yaml:5:60: generation.tensor: tensor x prefill_context x data: "
        "model.layers.0.mlp.experts.{expert}.gate_proj.weight: 768 rows over 8 ranks are 96 each, "
        "0.75 blocks, but fp8_blockwise is cut between blocks of 128 only; use 2; or write "
        "expert_parallel: true, which leaves experts whole");
  CHECK(error_of(scenario("", ", tensor: 8, expert_parallel: true, precision: fp8_blockwise"))
            .find("read without an error") == 0);
}

TEST_CASE("slips in precision and convert are refused", "[scenarios][precision]") {
  const auto refused = [](const std::string& generation, const std::string& convert = "",
                          const std::string& model = "qwen3-30b-a3b") {
    const std::string error = error_of(scenario("", ", tensor: 2" + generation, convert, model));
    const std::size_t at = error.find(": ", std::string("s.yaml:").size());
    return at == std::string::npos ? error : error.substr(at + 2);
  };
  CHECK(refused(", precision: fp8") ==
        "generation.precision: unknown value 'fp8'; known values: bf16, fp16, fp32, "
        "fp8_blockwise, mxfp8, mxfp4");
  CHECK(refused(", precision: {format: bf16, roles: [attention]}") ==
        "generation.precision.roles: only a format with scales is for some roles; leave this out");
  CHECK(refused(", precision: {format: mxfp8, roles: []}") ==
        "generation.precision.roles: no role is listed; list some, or leave this out");
  CHECK(refused(", precision: {format: mxfp8, roles: [norm]}") ==
        "generation.precision.roles[0]: unknown value 'norm'; known values: attention, "
        "linear_attention, routed_expert, shared_expert, dense_ffn, latent_projection");
  CHECK(refused(", precision: mxfp8", "", "{name: qwen3-30b-a3b, dtype: f8_e4m3}") ==
        "generation.precision: the model is in f8_e4m3 already, without scales; leave model.dtype "
        "out");
  CHECK(refused("", "both") == "convert: unknown value 'both'; known values: source, destination");
  CHECK(refused("", "source") ==
        "convert: no tensor changes its precision between the two sides; leave this out");
}

TEST_CASE("scaling keeps cuts between blocks: dims that are cut stay as long as they are",
          "[scenarios][precision][scale]") {
  const Scenario small = scaled(parse_scenario(scenario("", kFp8), "s.yaml"), 1.0 / 2000);
  const TensorClass* weight =
      class_named(small, "model.layers.0.mlp.experts.{expert}.gate_proj.weight");
  const TensorClass* scale =
      class_named(small, "model.layers.0.mlp.experts.{expert}.gate_proj.weight_scale_inv");
  REQUIRE(weight != nullptr);
  REQUIRE(scale != nullptr);
  // Nobody cuts the 2048 columns, 16 blocks: 1.02 and 0.008 of them are left, at least one.
  CHECK(weight->shape() == std::vector<std::int64_t>{48, 128, 768, 1});
  CHECK(scale->shape() == std::vector<std::int64_t>{48, 128, 6, 1});
  for (int rank : {0, 1}) {
    const Interval rows = weight->destination.shard(rank)[2].intervals().front();
    const Interval blocks = scale->destination.shard(rank)[2].intervals().front();
    CHECK(rows.begin == 128 * blocks.begin);
    CHECK(rows.end == 128 * blocks.end);
  }
}

}  // namespace refit::test
