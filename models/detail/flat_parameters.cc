#include "models/detail/flat_parameters.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/detail/training_ranks.h"
#include "models/megatron.h"

namespace refit::detail {
namespace {

bool fuses(const FlatRules& rules) {
  return rules.parameters == MegatronFsdpOptions::Parameters::megatron;
}

// The order in which modules of a layer register parameters decides who lies first among rows of
// one width.
int place_in_layer(const TensorSpec& tensor, const FlatRules& rules) {
  const bool is_norm = tensor.role == Role::norm && !on_expert_grid(tensor);
  if (!fuses(rules)) return is_norm ? 1 : 0;
  if (is_norm) return tensor.name.find("post_attention") == std::string::npos ? 0 : 3;
  if (tensor.role == Role::attention) return tensor.part == "o" ? 1 : 2;
  return tensor.role == Role::linear_attention ? 2 : 4;
}

// The parts that Megatron fuses with the one that is listed first, in its order.
std::vector<std::string> fused_parts(const TensorSpec& tensor, const FlatRules& rules) {
  if (!fuses(rules)) return {};
  if (tensor.part == "gate") return {"up"};
  if (tensor.part == "in_qkv") return {"in_z", "in_b", "in_a"};
  if (tensor.part == "q" && tensor.role == Role::attention && rules.heads.kv_heads > 0)
    return {"k", "v"};
  return {};
}

void check_can_fuse(const TensorSpec& tensor, const FlatRules& rules) {
  if (!fuses(rules)) return;
  const bool is_transposed =
      on_expert_grid(tensor) && tensor.part == "gate_up" && tensor.dims.back().axis == Axis::ffn;
  const auto has = [&](const char* word) { return tensor.name.find(word) != std::string::npos; };
  const bool is_other_norm =
      tensor.role == Role::norm &&
      (has("_feedforward_layernorm") || has("post_self_attn_") || has("post_mlp_"));
  if (!is_transposed && !is_other_norm && tensor.part != "in_qkvz") return;
  refuse(
      fmt::format("parameters: how Megatron's parameters relate to {} is not known; use checkpoint",
                  tensor.name));
}

// Of each tensor, with those fused into it; experts come as if there were one.
std::vector<Parameter> fuse(const Tensors& tensors, const FlatRules& rules) {
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return place_in_layer(*tensors[a], rules) < place_in_layer(*tensors[b], rules);
  });
  std::vector<Parameter> parameters;
  std::vector<bool> taken(tensors.size(), false);
  for (const std::size_t t : order) {
    const TensorSpec& tensor = *tensors[t];
    if (taken[t] || tensor.part == "router_bias") continue;  // the bias is a buffer, not packed
    check_can_fuse(tensor, rules);
    const FlatParameter shape = local_shape(tensor, rules);
    Parameter parameter{{t}, {shape.rows}, shape.width};
    for (const std::string& part : fused_parts(tensor, rules)) {
      for (const std::size_t other : order) {
        const TensorSpec& o = *tensors[other];
        if (o.part != part || o.role != tensor.role || o.dims.size() != tensor.dims.size())
          continue;
        parameter.tensors.push_back(other);
        parameter.rows.push_back(local_shape(o, rules).rows);
        taken[other] = true;
      }
    }
    parameter.is_qkv = fuses(rules) && tensor.role == Role::attention && rules.heads.kv_heads > 0 &&
                       (tensor.part == "q" || tensor.part == "qkv");
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

// Megatron lists one matrix of all experts, then the next; transformers all matrices of an expert.
std::vector<Parameter> with_experts(const std::vector<Parameter>& parameters,
                                    const Tensors& tensors, const FlatRules& rules) {
  std::vector<Parameter> all, repeated;
  for (const Parameter& p : parameters) {
    const bool by_expert = is_packed_by_expert(*tensors[p.tensors.front()], rules);
    (by_expert ? repeated : all).push_back(p);
  }
  const auto add = [&](Parameter p, int expert) {
    p.expert = expert;
    all.push_back(std::move(p));
  };
  if (fuses(rules)) {
    for (const Parameter& p : repeated) {
      for (int e = 0; e < rules.local_experts; ++e) add(p, e);
    }
  } else {
    for (int e = 0; e < rules.local_experts; ++e) {
      for (const Parameter& p : repeated) add(p, e);
    }
  }
  return all;
}

}  // namespace

int tensor_dim(const TensorSpec& tensor) {
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    const Axis axis = tensor.dims[d].axis;
    if (axis != Axis::none && axis != Axis::expert) return static_cast<int>(d);
  }
  return -1;
}

bool is_packed_by_expert(const TensorSpec& tensor, const FlatRules& rules) {
  return on_expert_grid(tensor) && (fuses(rules) || tensor.experts > 0);
}

FlatParameter local_shape(const TensorSpec& tensor, const FlatRules& rules) {
  const std::size_t first = is_packed_by_expert(tensor, rules) ? 1 : 0;
  FlatParameter shape{tensor.dims[first].size, 1};
  for (std::size_t d = first + 1; d < tensor.dims.size(); ++d) shape.width *= tensor.dims[d].size;
  const int cut = on_expert_grid(tensor) ? -1 : tensor_dim(tensor);
  if (cut < 0) return shape;
  const TensorDim& dim = tensor.dims[static_cast<std::size_t>(cut)];
  if (dim.axis == Axis::vocab) {
    const std::int64_t multiple = rules.vocab_multiple;
    shape.rows = (shape.rows + multiple - 1) / multiple * multiple / rules.tensor;
    return shape;
  }
  std::vector<std::int64_t> parts = dim.blocks;
  if (parts.empty()) parts.push_back(dim.size);
  for (const std::int64_t part : parts) {
    if (part % rules.tensor == 0) continue;
    refuse(fmt::format("tensor: {} can't be cut by {} ranks: {} rows do not divide evenly",
                       tensor.name, rules.tensor, part));
  }
  (cut == 0 ? shape.rows : shape.width) /= rules.tensor;
  return shape;
}

std::vector<Parameter> layer_parameters(const Tensors& tensors, const FlatRules& rules) {
  return with_experts(fuse(tensors, rules), tensors, rules);
}

std::vector<IntervalSet> tensor_rows(const Parameter& parameter, const IntervalSet& rows,
                                     const Tensors& tensors, const FlatRules& rules) {
  if (parameter.is_qkv) {
    QkvRows qkv{};
    if (!rows.empty()) qkv = megatron_qkv_rows(rules.heads, rows.intervals().front());
    if (parameter.tensors.size() == 3) return {qkv.q, qkv.k, qkv.v};
    std::vector<std::int64_t> blocks;
    for (const std::int64_t b : tensors[parameter.tensors[0]]->dims[0].blocks)
      blocks.push_back(b / rules.tensor);
    return {stack({qkv.q, qkv.k, qkv.v}, blocks)};
  }
  std::vector<IntervalSet> result;
  std::int64_t begin = 0;
  for (const std::int64_t length : parameter.rows) {
    std::vector<Interval> mine;
    const IntervalSet both = intersect(rows, Interval{begin, begin + length});
    for (const Interval& r : both.intervals()) mine.push_back({r.begin - begin, r.end - begin});
    result.push_back(IntervalSet::of(std::move(mine)));
    begin += length;
  }
  return result;
}

}  // namespace refit::detail
