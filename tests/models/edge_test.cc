#include "models/edge.h"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "models/conversion_totals.h"
#include "models/fsdp.h"
#include "tests/models/engine_case.h"

namespace refit::test {
namespace {

constexpr ElementForm kBf16{Format::as_model, Dtype::bf16};
constexpr ElementForm kF32{Format::as_model, Dtype::f32};

StoredForm kept_by(const std::string& engine, Format format = Format::as_model) {
  return {engine, {format, {}}};
}

// "source negexp (A to A_log = log(-A)) 4 -> 2"
std::string line(const Conversion& conversion) {
  return fmt::format("{} {} ({}) {} -> {}", to_string(conversion.side), to_string(conversion.op),
                     conversion.words, conversion.read_bytes, conversion.written_bytes);
}

using Lines = std::vector<std::string>;

Lines between(const ModelSpec& model, const TensorSpec& tensor, const Edge& edge,
              bool source_transposed = false) {
  const Dtype main = main_dtype(model);
  EdgeTensor sent{model,
                  tensor,
                  form_of(tensor, edge.source.precision, main),
                  kBf16,
                  form_of(tensor, edge.destination.precision, main),
                  source_transposed,
                  false};
  sent.wire = wire_form(sent.source, sent.destination, edge.convert);
  Lines lines;
  for (const Conversion& conversion : conversions_of(sent, edge)) lines.push_back(line(conversion));
  for (const Conversion& conversion : scale_conversions_of(sent, edge))
    lines.push_back("scales: " + line(conversion));
  return lines;
}

Lines between(const ModelSpec& model, const TensorSpec& tensor, const char* from, const char* to) {
  return between(model, tensor, Edge{kept_by(from), kept_by(to), std::nullopt});
}

const TensorSpec& with_part(const ModelSpec& model, Role role, const std::string& part) {
  const auto found = std::find_if(model.tensors.begin(), model.tensors.end(),
                                  [&](const auto& t) { return t.role == role && t.part == part; });
  REQUIRE(found != model.tensors.end());
  return *found;
}

}  // namespace

TEST_CASE("edge: equal forms travel as they are", "[models][precision]") {
  REQUIRE(wire_form(kBf16, kBf16, std::nullopt) == kBf16);
  const ModelSpec model = catalog_model("qwen3-8b");
  for (const TensorSpec& tensor : model.tensors) {
    REQUIRE(between(model, tensor, "megatron", "vllm").empty());
  }
}

TEST_CASE("edge: the precision changes where fewer bytes travel, unless a key says where",
          "[models][precision]") {
  const ElementForm fp8{Format::fp8_blockwise, Dtype::bf16};
  const ElementForm mxfp8{Format::mxfp8, Dtype::bf16};
  REQUIRE(wire_form(kF32, kBf16, std::nullopt) == kBf16);
  REQUIRE(wire_form(kBf16, kF32, std::nullopt) == kBf16);
  REQUIRE(wire_form(kBf16, fp8, std::nullopt) == fp8);
  REQUIRE(wire_form(fp8, kBf16, std::nullopt) == fp8);
  REQUIRE(wire_form(fp8, fp8, std::nullopt) == fp8);
  // The receiver quantises 32-blocks, as NeMo RL has it.
  REQUIRE(wire_form(kBf16, mxfp8, std::nullopt) == kBf16);
  REQUIRE(wire_form(kBf16, mxfp8, EdgeSide::source) == mxfp8);
  REQUIRE(wire_form(kBf16, fp8, EdgeSide::destination) == kBf16);
}

TEST_CASE("edge: changes of precision are named steps on one side", "[models][precision]") {
  const ModelSpec model = catalog_model("qwen3-30b-a3b");
  const TensorSpec& gate = with_part(model, Role::routed_expert, "gate");
  const auto of = [&](Format from, Format to, std::optional<EdgeSide> side = std::nullopt) {
    return between(model, gate, Edge{kept_by("megatron", from), kept_by("vllm", to), side});
  };
  // FP8: 1 + 4 / 16384 B an element; MXFP8: 1 + 1 / 32; MXFP4: 17 / 32.
  REQUIRE(of(Format::as_model, Format::fp8_blockwise) ==
          Lines{"source quantise (bf16 to fp8_blockwise) 2 -> 1.000244140625"});
  REQUIRE(of(Format::as_model, Format::mxfp8) ==
          Lines{"destination quantise (bf16 to mxfp8) 2 -> 1.03125"});
  REQUIRE(of(Format::fp8_blockwise, Format::fp8_blockwise).empty());
  REQUIRE(of(Format::fp8_blockwise, Format::bf16) ==
          Lines{"destination dequantise (fp8_blockwise to bf16) 1.000244140625 -> 2"});
  REQUIRE(of(Format::fp8_blockwise, Format::mxfp8) ==
          Lines{"destination requantise (fp8_blockwise to mxfp8) 1.000244140625 -> 1.03125"});
  REQUIRE(of(Format::f32, Format::bf16) == Lines{"source cast (f32 to bf16) 4 -> 2"});
  // Scales that arrive are in rows; the kernel wants them in tiles.
  REQUIRE(of(Format::as_model, Format::mxfp4, EdgeSide::source) ==
          Lines{"source quantise (bf16 to mxfp4) 2 -> 0.53125",
                "scales: destination swizzle (mxfp4 scales padded, in the order of the kernel) 1 "
                "-> 1"});
}

TEST_CASE("edge: Mamba's A_log becomes A in FP32", "[models][precision]") {
  const ModelSpec model = catalog_model("nemotron-3-nano-30b-a3b");
  const TensorSpec& a_log = with_part(model, Role::linear_attention, "A_log");
  for (const char* engine : {"vllm", "sglang"}) {
    REQUIRE(between(model, a_log, "megatron", engine) ==
            Lines{"destination negexp (A_log to A = -exp(A_log) in f32) 2 -> 4"});
  }
  REQUIRE(between(model, a_log, "vllm", "megatron") ==
          Lines{"source negexp (A to A_log = log(-A)) 4 -> 2"});
  REQUIRE(between(model, a_log, "vllm", "sglang").empty());
  // Delta nets take the exponential as they run.
  const ModelSpec delta = catalog_model("qwen3.5-397b-a17b");
  REQUIRE(between(delta, with_part(delta, Role::linear_attention, "A_log"), "megatron", "vllm")
              .empty());
}

TEST_CASE("edge: Nemotron's router is widened to FP32 in vLLM", "[models][precision]") {
  const ModelSpec model = catalog_model("nemotron-3-nano-30b-a3b");
  const TensorSpec& router = with_part(model, Role::router, "router");
  REQUIRE(between(model, router, "megatron", "vllm") ==
          Lines{"destination cast (router to f32) 2 -> 4"});
  REQUIRE(between(model, router, "megatron", "sglang").empty());
  const ModelSpec other = catalog_model("deepseek-v3");
  REQUIRE(between(other, with_part(other, Role::router, "router"), "megatron", "vllm").empty());
}

TEST_CASE("edge: Megatron keeps the norm of delta nets zero-centred", "[models][precision]") {
  const ModelSpec model = catalog_model("qwen3.5-397b-a17b");
  const TensorSpec& norm = with_part(model, Role::linear_attention, "norm");
  REQUIRE(between(model, norm, "megatron", "vllm") ==
          Lines{"source add_constant (norm weight - 1 to weight) 2 -> 2"});
  REQUIRE(between(model, norm, "fsdp", "megatron") ==
          Lines{"destination add_constant (norm weight to weight - 1) 2 -> 2"});
  REQUIRE(between(model, norm, "megatron", "megatron_fsdp").empty());
  const ModelSpec mamba = catalog_model("nemotron-3-nano-30b-a3b");
  REQUIRE(
      between(mamba, with_part(mamba, Role::linear_attention, "norm"), "megatron", "vllm").empty());
}

TEST_CASE("edge: Megatron groups the gates of gated attention behind the queries",
          "[models][precision]") {
  const ModelSpec model = catalog_model("qwen3.5-397b-a17b");
  REQUIRE(between(model, with_part(model, Role::attention, "q"), "megatron", "vllm") ==
          Lines{"source interleave (queries, then gates of a group to query and gate by head) 2 "
                "-> 2"});
  REQUIRE(between(model, with_part(model, Role::attention, "k"), "megatron", "vllm").empty());
}

TEST_CASE("edge: gpt-oss experts are interleaved anew, and transposed where only one side is",
          "[models][precision]") {
  const ModelSpec model = catalog_model("gpt-oss-120b");
  const TensorSpec& gate_up = with_part(model, Role::routed_expert, "gate_up");
  const TensorSpec& bias = with_part(model, Role::norm, "gate_up");
  const std::string interleave = "source interleave (gate, then up to gate and up in turn) 2 -> 2";
  // Both are [out, in], the checkpoint is not.
  REQUIRE(between(model, gate_up, "megatron", "vllm") == Lines{interleave});
  REQUIRE(between(model, bias, "megatron", "vllm") == Lines{interleave});
  REQUIRE(between(model, gate_up, "fsdp", "vllm") ==
          Lines{"destination transpose (experts stored [out, in]) 2 -> 2"});
  REQUIRE(between(model, with_part(model, Role::routed_expert, "down"), "megatron", "fsdp") ==
          Lines{"source transpose (experts stored [out, in]) 2 -> 2"});
}

TEST_CASE("edge: experts of Qwen3-VL are transposed where engines keep them out, in",
          "[models][precision]") {
  const ModelSpec model = parse_hf_config(
      R"({"architectures": ["Qwen3VLMoeForConditionalGeneration"], "text_config": {
          "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
          "num_hidden_layers": 1, "vocab_size": 10, "num_experts": 4,
          "moe_intermediate_size": 8}})",
      "vl");
  const TensorSpec& down = with_part(model, Role::routed_expert, "down");
  REQUIRE(between(model, down, "megatron", "vllm").empty());
  REQUIRE(between(model, down, "fsdp", "vllm") ==
          Lines{"destination transpose (experts stored [out, in]) 2 -> 2"});
}

TEST_CASE("edge: Automodel transposes experts back before it sends them", "[models][precision]") {
  const ModelSpec model = catalog_model("qwen3-30b-a3b");
  const TensorSpec& gate = with_part(model, Role::routed_expert, "gate");
  const Edge edge{kept_by("automodel"), kept_by("vllm"), std::nullopt};
  REQUIRE(between(model, gate, edge, true) ==
          Lines{"source transpose (experts stored [in, out]) 2 -> 2"});
  // As its layouts say: experts and nothing else.
  AutomodelOptions options;
  options.gpus = options.expert = 8;
  const auto side = automodel(model, options);
  REQUIRE(side->is_transposed(gate));
  REQUIRE_FALSE(side->is_transposed(with_part(model, Role::attention, "q")));
}

TEST_CASE("edge: engines derive two matrices of latent attention from the one that is sent",
          "[models][precision]") {
  const ModelSpec model = catalog_model("deepseek-v3");
  const TensorSpec& kv_b = with_part(model, Role::attention, "kv_b");
  const std::string derive = "destination derive (W_UK and W_UV from kv_b) 2 -> 2";
  REQUIRE(between(model, kv_b, "megatron", "vllm") == Lines{derive});
  REQUIRE(between(model, kv_b, "vllm", "sglang") == Lines{derive});
  REQUIRE(between(model, kv_b, "vllm", "megatron").empty());
}

TEST_CASE("edge: Kimi K3's A_log has 128 entries in a checkpoint and 96 in an engine",
          "[models][precision]") {
  const ModelSpec model = catalog_model("kimi-k3");
  const TensorSpec& a_log = with_part(model, Role::linear_attention, "A_log");
  REQUIRE(between(model, a_log, "fsdp", "vllm") ==
          Lines{"source resize (A_log of 128 entries to those of 96 heads) 2 -> 2"});
  REQUIRE(between(model, a_log, "megatron", "vllm").empty());
}

TEST_CASE("edge: a refit's classes are of what travels, with steps counted per element of it",
          "[models][precision]") {
  ModelSpec model = catalog_model("qwen3-30b-a3b");
  model.tensors = {with_part(model, Role::routed_expert, "gate"),
                   with_part(model, Role::attention, "q_norm")};
  MegatronOptions from;
  from.gpus = from.expert = 8;
  VllmOptions to;
  to.gpus = to.tensor = 2;
  to.first = Rank(8);
  Edge edge{kept_by("megatron"), kept_by("vllm", Format::mxfp4), EdgeSide::source};
  const Refit refit = make_refit(model, *megatron(model, from), *vllm(model, to), 10, edge);
  REQUIRE(refit.classes.size() == 3);
  const TensorClass &weight = refit.classes[0], &scale = refit.classes[1], &norm = refit.classes[2];

  REQUIRE(weight.shape() == std::vector<std::int64_t>{1, 128, 768, 1024});  // two to a byte
  REQUIRE(scale.shape() == std::vector<std::int64_t>{1, 128, 768, 64});     // 2048 / 32
  REQUIRE(weight.bytes() + scale.bytes() == std::int64_t{128} * 768 * 2048 / 32 * 17);
  REQUIRE(scale.checkpoint_tensors == 128);
  REQUIRE(norm.conversions.empty());

  // A byte is two elements: 4 B of BF16 read, 17 / 16 written.
  REQUIRE(weight.conversions.size() == 1);
  REQUIRE(line(weight.conversions[0]) == "source quantise (bf16 to mxfp4) 4 -> 1.0625");
  REQUIRE(scale.conversions.size() == 1);

  // Every source holds 16 experts whole; both engine ranks hold half of the rows of all.
  const std::vector<ConversionTotal> totals = conversion_totals(refit);
  REQUIRE(totals.size() == 2);
  REQUIRE(totals[0] == ConversionTotal{ValueOp::quantise, EdgeSide::source, "bf16 to mxfp4", 128,
                                       std::int64_t{128} * 768 * 2048 * 2,
                                       std::int64_t{128} * 768 * 2048 / 32 * 17});
  REQUIRE(totals[1].op == ValueOp::swizzle);
  REQUIRE(totals[1].read_bytes == std::int64_t{128} * 768 * 64);
}

TEST_CASE("edge: a side is checked for what it holds and for what it sends or gets",
          "[models][precision]") {
  // 768 rows of an expert over 4 ranks are 1.5 blocks.
  const ModelSpec model = catalog_model("qwen3-30b-a3b");
  MegatronOptions from;
  from.gpus = from.expert = 8;
  VllmOptions to;
  to.gpus = to.tensor = 4;
  to.first = Rank(8);
  const auto refused = [&](Format source, Format destination, std::optional<EdgeSide> side) {
    const Edge edge{kept_by("megatron", source), kept_by("vllm", destination), side};
    return refusal([&] {
             make_refit(model, *megatron(model, from), *vllm(model, to), 12, edge);
           }).find("1.5 blocks") != std::string::npos;
  };
  REQUIRE(refused(Format::bf16, Format::fp8_blockwise, EdgeSide::source));
  REQUIRE(refused(Format::bf16, Format::fp8_blockwise, EdgeSide::destination));
  REQUIRE(refused(Format::fp8_blockwise, Format::bf16, EdgeSide::destination));
  // Whole blocks leave the source as BF16: nobody asks for blocks on the other side.
  REQUIRE_FALSE(refused(Format::fp8_blockwise, Format::bf16, EdgeSide::source));
}

}  // namespace refit::test
