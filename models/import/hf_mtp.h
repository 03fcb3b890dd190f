#pragma once

#include <functional>
#include <string>

#include "models/import/hf_decoder.h"

namespace refit {

// Multi-token-prediction modules: small models behind the decoder that guess further tokens. Each
// joins the last hidden state with an embedding, [hidden, 2 * hidden], and runs one layer or a few.
// Copies of the embedding and the head that some checkpoints store with a module are not listed:
// whoever needs them makes them from the originals.

// How many modules the configuration declares, or `unmentioned` if it says nothing; 0 without the
// option.
int read_mtp_count(const HfModel& model, std::string_view key, int unmentioned = 0);

// DeepSeek, GLM, Ling: layers numbered on from the decoder's last, each a whole module.
void list_appended_mtp(const Decoder& decoder, int modules, const std::string& final_norm,
                       HfModel& model);

// MiMo: "model.mtp_layers." counts them on their own.
void list_mimo_mtp(const Decoder& decoder, int modules, HfModel& model);

// Qwen: one "mtp." module with `layers` layers.
void list_qwen_mtp(const Decoder& decoder, int layers, HfModel& model);

// Nemotron: "mtp.layers." counts the blocks of all modules on; the parts around a module stand with
// its first and last block. `list_block(b)` writes block b of a module.
void list_nemotron_mtp(int modules, int blocks_per_module,
                       const std::function<void(int block, const TensorScope& at)>& list_block,
                       HfModel& model);

}  // namespace refit
