#include "models/import/hf_families.h"

namespace refit {

std::span<const HfFamily> hf_families() {
  static constexpr HfFamily kFamilies[] = {
      {"BailingMoeV2ForCausalLM", list_bailing_moe},
      {"DeepseekV2ForCausalLM", list_deepseek_v2},
      {"DeepseekV3ForCausalLM", list_deepseek_v3},
      {"Glm4MoeForCausalLM", list_glm4_moe},
      {"Glm4MoeLiteForCausalLM", list_deepseek_v3},
      {"GptOssForCausalLM", list_gpt_oss},
      {"GraniteMoeForCausalLM", list_granite_moe},
      {"KimiK3ForConditionalGeneration", list_kimi_k3},
      {"LlamaForCausalLM", list_llama},
      {"MiniMaxM1ForCausalLM", list_minimax_m1},
      {"MiniMaxM2ForCausalLM", list_minimax_m2},
      {"MistralForCausalLM", list_llama},
      {"MixtralForCausalLM", list_mixtral},
      {"NemotronHForCausalLM", list_nemotron_h},
      {"Qwen2ForCausalLM", list_qwen2},
      {"Qwen3ForCausalLM", list_qwen3},
      {"Qwen3MoeForCausalLM", list_qwen3_moe},
      {"Qwen3NextForCausalLM", list_qwen3_next},
      {"Qwen3_5ForCausalLM", list_qwen35},
      {"Qwen3_5ForConditionalGeneration", list_qwen35_multimodal},
      {"Qwen3_5MoeForCausalLM", list_qwen35_moe},
      {"Qwen3_5MoeForConditionalGeneration", list_qwen35_moe_multimodal},
  };
  return kFamilies;
}

}  // namespace refit
