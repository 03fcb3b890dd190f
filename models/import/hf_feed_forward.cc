#include "models/import/hf_feed_forward.h"

#include <utility>

#include <fmt/format.h>

namespace refit {
namespace {

const Spellings kExpertCounts = {"num_experts", "n_routed_experts", "num_local_experts",
                                 "num_routed_experts"};

}  // namespace

void list_ffn(const FfnShape& shape, const FfnNames& names, Role role, const TensorScope& at) {
  const TensorDim hidden = plain(shape.hidden);
  const TensorDim width = ffn_width(shape.width);
  if (!names.gate.empty()) {
    at.add(names.gate + ".weight", {width, hidden}, role, "gate");
    if (shape.bias) at.add(names.gate + ".bias", {width}, role, "gate");
  }
  at.add(names.up + ".weight", {width, hidden}, role, "up");
  if (shape.bias) at.add(names.up + ".bias", {width}, role, "up");
  at.add(names.down + ".weight", {hidden, width}, role, "down");
  if (shape.bias) at.add(names.down + ".bias", {hidden}, role, "down");
}

std::int64_t read_expert_count(const HfKeys& keys) {
  return keys.integer(kExpertCounts, 1, kMostExperts);
}

void refuse_experts(const HfKeys& keys, const std::string& architecture) {
  for (const std::string_view count : kExpertCounts) {
    if (keys.find_integer({count}, 0, kMostExperts).value_or(0) > 0) {
      keys.fail(count,
                fmt::format("{} has no experts; name an architecture that has them", architecture));
    }
  }
  for (const std::string& key : keys.keys()) {
    if (key.starts_with("moe_")) {
      keys.fail(key, fmt::format("stands without a number of experts: missing key '{}', and "
                                 "'architectures' names {}, which has none",
                                 *kExpertCounts.begin(), architecture));
    }
  }
}

void list_moe_router(const MoeShape& shape, const MoeNames& names, const TensorScope& at) {
  at.add(names.router, {plain(shape.experts), plain(shape.hidden)}, Role::router, "router");
  if (shape.correction_bias) {
    at.add(names.correction_bias, {plain(shape.experts)}, Role::router, "router_bias",
           TensorScope::Precision::fp32);
  }
}

void list_moe_shared(const MoeShape& shape, const MoeNames& names, const TensorScope& at) {
  if (shape.shared_width == 0) return;
  list_ffn({.hidden = shape.hidden, .width = shape.shared_width}, names.shared_expert,
           Role::shared_expert, at.under(names.shared));
  if (shape.shared_gate) {
    at.add(names.shared_gate, {plain(1), plain(shape.hidden)}, Role::router, "shared_gate");
  }
}

void list_moe(const MoeShape& shape, const MoeNames& names, const TensorScope& at) {
  list_moe_router(shape, names, at);

  const bool latent = shape.latent > 0;
  const TensorDim inner = plain(latent ? shape.latent : shape.hidden);
  const Role around = Role::latent_projection;
  if (latent) at.add(names.latent_down, {inner, plain(shape.hidden)}, around, "latent_down");

  const TensorDim experts = expert_count(shape.experts);
  const TensorDim width = ffn_width(shape.expert_width);
  const auto add_projection = [&](const std::string& name, std::vector<TensorDim> dims,
                                  const char* part) {
    at.add_per_expert(fmt::format("experts.{{expert}}.{}.weight", name), std::move(dims),
                      Role::routed_expert, part);
  };
  if (!names.expert.gate.empty()) {
    add_projection(names.expert.gate, {experts, width, inner}, "gate");
  }
  add_projection(names.expert.up, {experts, width, inner}, "up");
  add_projection(names.expert.down, {experts, inner, width}, "down");

  if (latent && shape.latent_norm) at.add(names.latent_norm, {inner}, around, "latent_norm");
  if (latent) at.add(names.latent_up, {plain(shape.hidden), inner}, around, "latent_up");
  list_moe_shared(shape, names, at);
}

void list_fused_experts(const MoeShape& shape, std::string_view gate_up, std::string_view down,
                        const TensorScope& at) {
  const TensorDim experts = expert_count(shape.experts);
  const TensorDim hidden = plain(shape.hidden);
  const std::int64_t width = shape.expert_width;
  at.add(gate_up, {experts, ffn_width(2 * width, {width, width}), hidden}, Role::routed_expert,
         "gate_up");
  at.add(down, {experts, hidden, ffn_width(width)}, Role::routed_expert, "down");
}

void list_in_out_experts(const MoeShape& shape, const TensorScope& at) {
  const TensorDim experts = expert_count(shape.experts);
  const TensorDim hidden = plain(shape.hidden);
  const std::int64_t width = shape.expert_width;
  at.add("gate_up_proj", {experts, hidden, ffn_width(2 * width, {width, width})},
         Role::routed_expert, "gate_up");
  at.add("down_proj", {experts, ffn_width(width), hidden}, Role::routed_expert, "down");
}

void list_transposed_experts(const MoeShape& shape, const TensorScope& at) {
  const TensorDim experts = expert_count(shape.experts);
  const TensorDim hidden = plain(shape.hidden);
  const TensorDim width = ffn_width(shape.expert_width);
  const TensorDim pairs = ffn_width(2 * shape.expert_width);
  at.add("gate_up_proj", {experts, hidden, pairs}, Role::routed_expert, "gate_up");
  at.add("down_proj", {experts, width, hidden}, Role::routed_expert, "down");
  // Biases count with the small tensors: a bulk path for expert matrices does not carry them.
  at.add("gate_up_proj_bias", {experts, pairs}, Role::norm, "gate_up");
  at.add("down_proj_bias", {experts, hidden}, Role::norm, "down");
}

}  // namespace refit
