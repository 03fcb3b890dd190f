#include "models/edge.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/parallelism.h"

namespace refit {
namespace {

enum EngineBit : unsigned {
  kMegatron = 1,  // Megatron-FSDP, too, where it packs Megatron's parameters
  kFsdp = 2,      // parameters of the checkpoint as they are
  kAutomodel = 4,
  kVllm = 8,
  kSglang = 16,
  kAny = 31,
};

unsigned bit_of(const std::string& engine) {
  if (engine == "megatron" || engine == "megatron_fsdp") return kMegatron;
  if (engine == "fsdp") return kFsdp;
  if (engine == "automodel") return kAutomodel;
  if (engine == "vllm") return kVllm;
  if (engine == "sglang") return kSglang;
  return 0;
}

// A tensor in the hands of one engine.
struct Kept {
  const ModelSpec& model;
  const TensorSpec& tensor;
  ElementForm form;
  bool transposed = false;
};

// Experts that the checkpoint stores [in, out], gate and up in turn.
bool is_gpt_oss_expert(const Kept& k) {
  return k.model.architecture == "GptOssForCausalLM" && on_expert_grid(k.tensor) &&
         (k.tensor.part == "gate_up" || k.tensor.part == "down");
}

// The same with gate in front of up: those of Qwen3-VL.
bool is_in_out_expert(const Kept& k) {
  return is_gpt_oss_expert(k) ||
         (k.model.architecture == "Qwen3VLMoeForConditionalGeneration" && on_expert_grid(k.tensor));
}

// What an engine keeps otherwise than the checkpoint does. Sources undo it before they send,
// destinations do it to what has arrived.
struct Rule {
  unsigned engines;
  bool (*applies)(const Kept& kept);
  ValueOp op;
  const char* done;    // words of the destination
  const char* undone;  // words of the source; null: it still has the checkpoint's tensor
  std::optional<Dtype> kept_in = std::nullopt;  // nothing: as the side's other elements
};

const Rule kRules[] = {
    // NeMo Automodel, components/moe: experts are [E, in, out].
    {kAny, [](const Kept& k) { return k.transposed; }, ValueOp::transpose,
     "experts stored [in, out]", "experts stored [in, out]"},
    // Megatron-Bridge, models/gpt_oss/gpt_oss_bridge.py and models/qwen_vl/qwen3_vl_bridge.py, and
    // vLLM, models/gpt_oss.py and models/qwen3_vl_moe.py: [out, in]. So is the checkpoint in MXFP4.
    {kMegatron | kVllm | kSglang,
     [](const Kept& k) {
       return is_in_out_expert(k) && k.tensor.dims.size() == 3 && k.form.quantised != Format::mxfp4;
     },
     ValueOp::transpose, "experts stored [out, in]", "experts stored [out, in]"},
    // The same bridge.
    {kMegatron, [](const Kept& k) { return is_gpt_oss_expert(k) && k.tensor.part == "gate_up"; },
     ValueOp::interleave, "gate and up in turn to gate, then up",
     "gate, then up to gate and up in turn"},
    // Megatron-Core, transformer/attention.py: queries of a group, then their gates.
    {kMegatron,
     [](const Kept& k) {
       return k.model.heads.gated && k.tensor.role == Role::attention && k.tensor.part == "q";
     },
     ValueOp::interleave, "query and gate by head to queries, then gates of a group",
     "queries, then gates of a group to query and gate by head"},
    // Megatron-Core, ssm/gated_delta_net.py: zero-centred.
    {kMegatron,
     [](const Kept& k) {
       return k.model.linear_heads.key_heads > 0 && k.tensor.role == Role::linear_attention &&
              k.tensor.part == "norm";
     },
     ValueOp::add_constant, "norm weight to weight - 1", "norm weight - 1 to weight"},
    // vLLM, layers/mamba/mamba_mixer2.py; SGLang has it from there.
    {kVllm | kSglang,
     [](const Kept& k) {
       return k.model.linear_heads.mamba_groups > 0 && k.tensor.part == "A_log";
     },
     ValueOp::negexp, "A_log to A = -exp(A_log) in f32", "A to A_log = log(-A)", Dtype::f32},
    // vLLM, models/nemotron_h.py.
    {kVllm,
     [](const Kept& k) {
       return k.model.architecture == "NemotronHForCausalLM" && k.tensor.part == "router" &&
              k.tensor.dtype != Dtype::f32;
     },
     ValueOp::cast, "router to f32", "router from f32", Dtype::f32},
    // vLLM, attention backends of latent attention, after loading; SGLang, models/deepseek_v2.py.
    {kVllm | kSglang,
     [](const Kept& k) { return k.tensor.role == Role::attention && k.tensor.part == "kv_b"; },
     ValueOp::derive, "W_UK and W_UV from kv_b", nullptr, Dtype::bf16},
    // The parameter of the checkpoint has 128 entries for 96 heads; engines have the heads' own.
    {kFsdp | kAutomodel,
     [](const Kept& k) {
       return k.model.architecture == "KimiK3ForConditionalGeneration" && k.tensor.part == "A_log";
     },
     ValueOp::resize, "A_log of 96 heads to 128 entries with zeros",
     "A_log of 128 entries to those of 96 heads"},
};

bool keeps(const Rule& rule, const std::string& engine, const Kept& kept) {
  return (rule.engines & bit_of(engine)) != 0 && rule.applies(kept);
}

// Source and destination take the same step, or its reverse, on the form that is theirs.
Conversion step(const Rule& rule, EdgeSide side, const ElementForm& form) {
  const double plain = bytes_per_element(form);
  const double own = rule.kept_in ? bytes_per_element(*rule.kept_in) : plain;
  if (side == EdgeSide::source) return {rule.op, side, rule.undone, own, plain};
  return {rule.op, side, rule.done, plain, own};
}

void add_precision(const ElementForm& from, const ElementForm& to, EdgeSide side,
                   std::vector<Conversion>& conversions) {
  if (from == to) return;
  const bool from_blocks = is_quantised(from.quantised), to_blocks = is_quantised(to.quantised);
  const ValueOp op = from_blocks ? (to_blocks ? ValueOp::requantise : ValueOp::dequantise)
                                 : (to_blocks ? ValueOp::quantise : ValueOp::cast);
  conversions.push_back({op, side, fmt::format("{} to {}", to_string(from), to_string(to)),
                         bytes_per_element(from), bytes_per_element(to)});
}

bool is_mx(const ElementForm& form) {
  return form.quantised == Format::mxfp8 || form.quantised == Format::mxfp4;
}

}  // namespace

ElementForm wire_form(const ElementForm& source, const ElementForm& destination,
                      std::optional<EdgeSide> convert) {
  if (source == destination) return source;
  const bool shrinks = bytes_per_element(destination) < bytes_per_element(source);
  const EdgeSide side =
      convert.value_or(!is_mx(destination) && shrinks ? EdgeSide::source : EdgeSide::destination);
  return side == EdgeSide::source ? destination : source;
}

bool changes_precision(const ModelSpec& model, const Edge& edge) {
  const Dtype main = main_dtype(model);
  return std::any_of(model.tensors.begin(), model.tensors.end(), [&](const TensorSpec& tensor) {
    return form_of(tensor, edge.source.precision, main) !=
           form_of(tensor, edge.destination.precision, main);
  });
}

std::vector<Conversion> conversions_of(const EdgeTensor& tensor, const Edge& edge) {
  const Kept from{tensor.model, tensor.tensor, tensor.source, tensor.source_transposed};
  const Kept to{tensor.model, tensor.tensor, tensor.destination, tensor.destination_transposed};
  std::vector<Conversion> before, after;
  for (const Rule& rule : kRules) {
    const bool at_source = keeps(rule, edge.source.engine, from);
    const bool at_destination = keeps(rule, edge.destination.engine, to);
    if (at_source && rule.undone != nullptr && !at_destination) {
      before.push_back(step(rule, EdgeSide::source, tensor.source));
    }
    // What is derived is derived anew, whoever had it.
    if (at_destination && (rule.undone == nullptr || !at_source)) {
      after.push_back(step(rule, EdgeSide::destination, tensor.destination));
    }
  }
  add_precision(tensor.source, tensor.wire, EdgeSide::source, before);
  std::vector<Conversion> all = std::move(before);
  add_precision(tensor.wire, tensor.destination, EdgeSide::destination, all);
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

std::vector<Conversion> scale_conversions_of(const EdgeTensor& tensor, const Edge& edge) {
  // Kernels of both engines read scales of 32-blocks in tiles; a quantising engine writes them so.
  const bool in_tiles = (bit_of(edge.destination.engine) & (kVllm | kSglang)) != 0;
  if (!in_tiles || !is_mx(tensor.destination) || tensor.wire != tensor.destination) return {};
  const double bytes = bytes_per_element(Dtype::f8_e8m0);
  return {
      {ValueOp::swizzle, EdgeSide::destination,
       fmt::format("{} scales padded, in the order of the kernel", to_string(tensor.destination)),
       bytes, bytes}};
}

}  // namespace refit
