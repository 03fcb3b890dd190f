// What flags of Megatron say of a model's shapes beyond its layers, heads and experts, and what the
// tensors of a model have there. Flags of rotary positions, norms' kinds or losses have no weights.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "scenarios/import/megatron_model.h"

namespace refit {
namespace {

using Size = std::optional<std::int64_t>;  // nothing: the flag says nothing about such a model

const TensorSpec* find_part(const ModelSpec& model, Role role, std::string_view part,
                            std::size_t dims) {
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.role == role && tensor.part == part && tensor.dims.size() == dims && !tensor.mtp)
      return &tensor;
  }
  return nullptr;
}

const TensorSpec* find_attention(const ModelSpec& model, std::string_view part, std::size_t dims) {
  return find_part(model, Role::attention, part, dims);
}

bool is_latent(const ModelSpec& model) { return find_attention(model, "kv_a", 2) != nullptr; }

std::int64_t rows(const TensorSpec* tensor) { return tensor ? tensor->dims.front().size : 0; }
std::int64_t columns(const TensorSpec* tensor) { return tensor ? tensor->dims.back().size : 0; }

Size dense_width(const ModelSpec& model) {
  const TensorSpec* down = find_part(model, Role::dense_ffn, "down", 2);
  return down ? Size(columns(down)) : std::nullopt;
}

Size shared_width(const ModelSpec& model) {
  return columns(find_part(model, Role::shared_expert, "down", 2));
}

Size head_width(const ModelSpec& model) {
  return model.heads.kv_heads > 0 ? Size(model.heads.head_dim) : std::nullopt;
}

Size q_rank(const ModelSpec& model) {
  if (!is_latent(model)) return std::nullopt;
  return rows(find_attention(model, "q_a", 2));
}

Size kv_rank(const ModelSpec& model) {
  if (!is_latent(model)) return std::nullopt;
  return rows(find_attention(model, "kv_a_norm", 1));
}

Size rotary_width(const ModelSpec& model) {
  if (!is_latent(model)) return std::nullopt;
  return rows(find_attention(model, "kv_a", 2)) - *kv_rank(model);
}

Size plain_width(const ModelSpec& model) {
  if (!is_latent(model)) return std::nullopt;
  return model.heads.head_dim - *rotary_width(model);
}

Size value_width(const ModelSpec& model) {
  if (!is_latent(model) || model.heads.q_heads == 0) return std::nullopt;
  return columns(find_attention(model, "o", 2)) / model.heads.q_heads;
}

Size latent_width(const ModelSpec& model) {
  return rows(find_part(model, Role::latent_projection, "latent_down", 2));
}

bool has_part(const ModelSpec& model, Role role, std::string_view part) {
  return std::any_of(model.tensors.begin(), model.tensors.end(), [&](const TensorSpec& tensor) {
    return tensor.role == role && tensor.part == part;
  });
}

// Megatron's latent attention has none whatever this says.
bool has_qkv_bias(const ModelSpec& model) {
  return is_latent(model) || find_attention(model, "q", 1) != nullptr ||
         find_attention(model, "qkv", 1) != nullptr;
}

bool has_qk_norm(const ModelSpec& model) {
  return has_part(model, Role::attention, "q_norm") || is_latent(model);
}

bool has_own_head(const ModelSpec& model) { return !model.tied_embeddings; }
bool has_gated_attention(const ModelSpec& model) { return model.heads.gated; }

bool has_shared_gate(const ModelSpec& model) {
  return has_part(model, Role::router, "shared_gate");
}

bool has_router_bias(const ModelSpec& model) {
  return has_part(model, Role::router, "router_bias");
}

struct SizeFlag {
  std::string_view flag;
  Size (*of)(const ModelSpec& model);
};

constexpr SizeFlag kSizes[] = {{"--ffn-hidden-size", dense_width},
                               {"--kv-channels", head_width},
                               {"--moe-shared-expert-intermediate-size", shared_width},
                               {"--moe-latent-size", latent_width},
                               {"--q-lora-rank", q_rank},
                               {"--kv-lora-rank", kv_rank},
                               {"--qk-head-dim", plain_width},
                               {"--qk-pos-emb-head-dim", rotary_width},
                               {"--v-head-dim", value_width}};

struct SwitchFlag {
  std::string_view flag;
  bool (*of)(const ModelSpec& model);
  std::string_view words;
};

// A list of flags may be a part of all, so only a switch that is there says something.
constexpr SwitchFlag kSwitches[] = {
    {"--untie-embeddings-and-output-weights", has_own_head, "head of its own"},
    {"--add-qkv-bias", has_qkv_bias, "bias of q, k and v"},
    {"--qk-layernorm", has_qk_norm, "norm of q and k"},
    {"--attention-output-gate", has_gated_attention, "gate of its attention"},
    {"--multi-latent-attention", is_latent, "latent attention"},
    {"--moe-shared-expert-gate", has_shared_gate, "gate of its shared expert"},
    {"--moe-router-enable-expert-bias", has_router_bias, "bias of its router"}};

template <typename Row, std::size_t N>
constexpr auto flags_of(const Row (&rows)[N]) {
  std::array<std::string_view, N> flags{};
  for (std::size_t i = 0; i < N; ++i) flags[i] = rows[i].flag;
  return flags;
}

}  // namespace

std::span<const std::string_view> megatron_size_flags() {
  static constexpr auto kFlags = flags_of(kSizes);
  return kFlags;
}

std::span<const std::string_view> megatron_switch_flags() {
  static constexpr auto kFlags = flags_of(kSwitches);
  return kFlags;
}

std::string size_difference(const MegatronNumbers& numbers, const ModelSpec& model) {
  for (const auto& [flag, of] : kSizes) {
    const auto said = numbers.sizes.find(flag);
    if (said == numbers.sizes.end()) continue;
    const Size has = of(model);
    if (has && *has != said->second)
      return fmt::format("{} is {}, but the model has {}", flag, said->second,
                         *has == 0 ? "none" : fmt::format("{}", *has));
  }
  for (const auto& [flag, has, words] : kSwitches) {
    if (numbers.switches.contains(flag) && !has(model))
      return fmt::format("{} is there, but the model has no {}", flag, words);
  }
  return {};
}

}  // namespace refit
