#include "models/import/hf_mtp.h"

#include <fmt/format.h>

namespace refit {
namespace {

constexpr std::int64_t kMostModules = 64;

// Counted with the norms: like them it is small, and replicated where engines run it.
void add_joining_projection(std::string_view name, std::int64_t hidden, const TensorScope& at) {
  at.add(name, {plain(hidden), plain(2 * hidden)}, Role::norm, "mtp_proj");
}

}  // namespace

int read_mtp_count(const HfModel& model, std::string_view key, int unmentioned) {
  const auto declared = model.keys.find_integer({key}, 0, kMostModules);
  return model.mtp() ? static_cast<int>(declared.value_or(unmentioned)) : 0;
}

void list_appended_mtp(const Decoder& decoder, int modules, const std::string& final_norm,
                       HfModel& model) {
  const std::int64_t hidden = model.spec.hidden;
  const TensorScope layers = TensorScope(model.tensors).under(decoder.names.layers).mtp_module();
  for (int module = 0; module < modules; ++module) {
    const int layer = model.spec.layers + module;
    const TensorScope at = layers.under(fmt::format("{}.", layer));
    add_norm("enorm.weight", hidden, at);
    add_norm("hnorm.weight", hidden, at);
    add_joining_projection("eh_proj.weight", hidden, at);
    list_decoder_layer(decoder, layer, hidden, at);
    add_norm(final_norm, hidden, at);
  }
}

void list_mimo_mtp(const Decoder& decoder, int modules, HfModel& model) {
  const std::int64_t hidden = model.spec.hidden;
  const TensorScope layers = TensorScope(model.tensors).under("model.mtp_layers.").mtp_module();
  for (int module = 0; module < modules; ++module) {
    const TensorScope at = layers.under(fmt::format("{}.", module));
    add_norm("token_layernorm.weight", hidden, at);
    add_norm("hidden_layernorm.weight", hidden, at);
    add_joining_projection("input_proj.weight", hidden, at);
    list_decoder_layer(decoder, module, hidden, at);
    add_norm("final_layernorm.weight", hidden, at);
  }
}

void list_qwen_mtp(const Decoder& decoder, int layers, HfModel& model) {
  if (layers == 0) return;
  model.keys.expect_flag("mtp_use_dedicated_embeddings", false);
  const std::int64_t hidden = model.spec.hidden;
  const TensorScope at = TensorScope(model.tensors).under("mtp.").mtp_module();
  add_norm("pre_fc_norm_embedding.weight", hidden, at);
  add_norm("pre_fc_norm_hidden.weight", hidden, at);
  add_joining_projection("fc.weight", hidden, at);
  for (int layer = 0; layer < layers; ++layer) {
    list_decoder_layer(decoder, layer, hidden, at.under(fmt::format("layers.{}.", layer)));
  }
  add_norm("norm.weight", hidden, at);
}

void list_nemotron_mtp(int modules, int blocks_per_module,
                       const std::function<void(int block, const TensorScope& at)>& list_block,
                       HfModel& model) {
  const std::int64_t hidden = model.spec.hidden;
  const TensorScope layers = TensorScope(model.tensors).under("mtp.layers.").mtp_module();
  for (int i = 0; i < modules * blocks_per_module; ++i) {
    const TensorScope at = layers.under(fmt::format("{}.", i));
    const int block = i % blocks_per_module;
    if (block == 0) {
      add_norm("enorm.weight", hidden, at);
      add_norm("hnorm.weight", hidden, at);
      add_joining_projection("eh_proj.weight", hidden, at);
    }
    list_block(block, at);
    if (block == blocks_per_module - 1) add_norm("final_layernorm.weight", hidden, at);
  }
}

}  // namespace refit
