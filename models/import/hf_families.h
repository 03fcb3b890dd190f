#pragma once

#include <span>
#include <string_view>

#include "models/import/hf_decoder.h"

namespace refit {

// One architecture as config.json names it, and how its weights are listed.
struct HfFamily {
  std::string_view architecture;
  void (*list)(HfModel& model);
  bool tied = false;       // where tie_word_embeddings is not there
  std::int64_t vocab = 0;  // where vocab_size is not there; 0: it must be
};

// Softmax or latent attention in every layer, dense.
void list_llama(HfModel& model);     // and Mistral
void list_mistral3(HfModel& model);  // the text part of it
void list_qwen2(HfModel& model);
void list_qwen25_vl(HfModel& model);  // the text part of it
void list_qwen3(HfModel& model);
void list_qwen3_vl(HfModel& model);  // the text part of it
void list_mimo(HfModel& model);
void list_seed_oss(HfModel& model);
void list_glm4(HfModel& model);
void list_phi3(HfModel& model);
void list_olmo2(HfModel& model);  // and Olmo 3
void list_gemma2(HfModel& model);
void list_gemma3(HfModel& model);
void list_gemma3_multimodal(HfModel& model);  // the text part of it

// The same with a mixture of experts.
void list_mixtral(HfModel& model);
void list_granite_moe(HfModel& model);
void list_qwen2_moe(HfModel& model);
void list_qwen3_moe(HfModel& model);
void list_qwen3_vl_moe(HfModel& model);  // the text part of it
void list_olmoe(HfModel& model);
void list_dots1(HfModel& model);
void list_ernie45_moe(HfModel& model);
void list_deepseek_v2(HfModel& model);
void list_deepseek_v3(HfModel& model);   // and GLM-4.7-Flash
void list_deepseek_v32(HfModel& model);  // with sparse attention, and GLM-5
void list_kimi_k25(HfModel& model);      // the text part of it
void list_glm4_moe(HfModel& model);
void list_gpt_oss(HfModel& model);
void list_minimax_m2(HfModel& model);
void list_bailing_moe(HfModel& model);

// Recurrent layers between attention layers, with a mixture of experts except where noted.
void list_nemotron_h(HfModel& model);
void list_kimi_k3(HfModel& model);
void list_qwen3_next(HfModel& model);
void list_qwen35(HfModel& model);                 // dense, text only
void list_qwen35_multimodal(HfModel& model);      // dense, the text part of it
void list_qwen35_moe(HfModel& model);             // text only
void list_qwen35_moe_multimodal(HfModel& model);  // the text part of it
void list_minimax_m1(HfModel& model);

// In alphabetical order.
std::span<const HfFamily> hf_families();

}  // namespace refit
