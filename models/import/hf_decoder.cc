#include "models/import/hf_decoder.h"

#include <fmt/format.h>

#include "base/shown.h"

namespace refit {

void list_decoder(const Decoder& decoder, HfModel& model) {
  list_embedding(decoder.names, model);
  const TensorScope layers = TensorScope(model.tensors).under(decoder.names.layers);
  for (int layer = 0; layer < model.spec.layers; ++layer) {
    list_decoder_layer(decoder, layer, model.spec.hidden,
                       layers.under(fmt::format("{}.", layer)).decoder_layer(layer));
  }
  if (decoder.after_layers) decoder.after_layers();
  list_final_norm_and_head(decoder.names, model);
}

void list_decoder_layer(const Decoder& decoder, int layer, std::int64_t hidden,
                        const TensorScope& at) {
  const auto add_norms = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) add_norm(name + ".weight", hidden, at);
  };
  if (decoder.residual) decoder.residual(layer, at);
  add_norms(decoder.names.before_attention);
  decoder.attention(layer, at.under(decoder.names.attention));
  add_norms(decoder.names.after_attention);
  add_norms(decoder.names.before_feed_forward);
  decoder.feed_forward(layer, at.under(decoder.names.feed_forward));
  add_norms(decoder.names.after_feed_forward);
}

DecoderNames inner_names() {
  DecoderNames names;
  names.embedding = "model.language_model.embed_tokens.weight";
  names.layers = "model.language_model.layers.";
  names.final_norm = "model.language_model.norm.weight";
  return names;
}

DecoderNames wrapped_names() {
  DecoderNames names;
  names.embedding = "language_model.model.embed_tokens.weight";
  names.layers = "language_model.model.layers.";
  names.final_norm = "language_model.model.norm.weight";
  names.head = "language_model.lm_head.weight";
  return names;
}

void list_embedding(const DecoderNames& names, HfModel& model) {
  const ModelSpec& spec = model.spec;
  TensorScope(model.tensors)
      .add(names.embedding, {vocab_rows(spec.vocab), plain(spec.hidden)}, Role::embedding);
}

void list_final_norm_and_head(const DecoderNames& names, HfModel& model) {
  const ModelSpec& spec = model.spec;
  const TensorScope top(model.tensors);
  add_norm(names.final_norm, spec.hidden, top);
  if (!spec.tied_embeddings) {
    top.add(names.head, {vocab_rows(spec.vocab), plain(spec.hidden)}, Role::lm_head);
  }
}

void add_norm(std::string_view name, std::int64_t hidden, const TensorScope& at) {
  at.add(name, {plain(hidden)}, Role::norm);
}

int read_layer_count(const HfKeys& keys) {
  return static_cast<int>(keys.integer({"num_hidden_layers"}, 1, kMostLayers));
}

void expect_one_per_layer(const HfKeys& keys, std::string_view what, std::size_t entries,
                          int layers) {
  if (entries != static_cast<std::size_t>(layers)) {
    keys.fail(what, fmt::format("{} entries for {} layers; there must be one per layer", entries,
                                layers));
  }
}

std::vector<bool> read_layer_types(const HfKeys& keys, std::string_view what, int layers,
                                   std::string_view first, std::string_view second) {
  const std::vector<std::string> types = keys.words(what);
  expect_one_per_layer(keys, what, types.size(), layers);
  std::vector<bool> are_first;
  for (const std::string& type : types) {
    if (type != first && type != second)
      keys.fail(what,
                fmt::format("'{}' is not known; use one of {}, {}", shown(type), first, second));
    are_first.push_back(type == first);
  }
  return are_first;
}

}  // namespace refit
