#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/import/hf_keys.h"
#include "models/import/hf_tensor_list.h"
#include "models/model_spec.h"

namespace refit {

// A model being put together from its configuration.
struct HfModel {
  const HfKeys& keys;  // of the language model; vision parts are not read
  ModelSpec& spec;     // hidden, vocab and tied_embeddings are set; a family sets the rest
  TensorList& tensors;

  bool mtp() const { return tensors.options().mtp; }
};

// The names around the layers of a decoder.
struct DecoderNames {
  std::string embedding = "model.embed_tokens.weight";
  std::string layers = "model.layers.";
  std::string final_norm = "model.norm.weight";
  std::string head = "lm_head.weight";
  std::string attention = "self_attn.";
  std::string feed_forward = "mlp.";
  // The norms of a layer around its two parts; some families have them behind, too.
  std::vector<std::string> before_attention = {"input_layernorm"};
  std::vector<std::string> after_attention = {};
  std::vector<std::string> before_feed_forward = {"post_attention_layernorm"};
  std::vector<std::string> after_feed_forward = {};
};

// The language model inside a multimodal one: "model.language_model.layers.0…" with a head outside,
// or "language_model.model.layers.0…" with a head inside.
DecoderNames inner_names();
DecoderNames wrapped_names();

// Writes the tensors of one layer's attention or feed-forward part.
using LayerPart = std::function<void(int layer, const TensorScope& at)>;

// Everything before, around and after the layers, and the layers of one kind of model: norms,
// attention of some kind, more norms, then a feed-forward network of some kind.
struct Decoder {
  DecoderNames names;
  LayerPart attention;
  LayerPart feed_forward;
  LayerPart residual;  // more tensors per layer, before its first norm; may be empty
  std::function<void()> after_layers;  // more tensors before the final norm; may be empty
};

void list_decoder(const Decoder& decoder, HfModel& model);
void list_decoder_layer(const Decoder& decoder, int layer, std::int64_t hidden,
                        const TensorScope& at);

void list_embedding(const DecoderNames& names, HfModel& model);
void list_final_norm_and_head(const DecoderNames& names, HfModel& model);

void add_norm(std::string_view name, std::int64_t hidden, const TensorScope& at);

// num_hidden_layers; a list with one entry per layer must agree with it (`what` is its key).
int read_layer_count(const HfKeys& keys);
void expect_one_per_layer(const HfKeys& keys, std::string_view what, std::size_t entries,
                          int layers);

// The list `what` of two words, one per layer: by layer, whether it is the first.
std::vector<bool> read_layer_types(const HfKeys& keys, std::string_view what, int layers,
                                   std::string_view first, std::string_view second);

}  // namespace refit
