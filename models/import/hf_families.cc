#include "models/import/hf_families.h"

namespace refit {
namespace {

constexpr std::int64_t kGemma3Vocabulary = 262'208;  // its multimodal configurations leave it out

}  // namespace

std::span<const HfFamily> hf_families() {
  static constexpr HfFamily kFamilies[] = {
      {"BailingMoeV2ForCausalLM", list_bailing_moe},
      {"DeepseekV2ForCausalLM", list_deepseek_v2},
      {"DeepseekV32ForCausalLM", list_deepseek_v32},
      {"DeepseekV3ForCausalLM", list_deepseek_v3},
      {"Dots1ForCausalLM", list_dots1},
      {"Ernie4_5_MoeForCausalLM", list_ernie45_moe, true},
      {"Gemma2ForCausalLM", list_gemma2, true},
      {"Gemma3ForCausalLM", list_gemma3, true},
      {"Gemma3ForConditionalGeneration", list_gemma3_multimodal, true, kGemma3Vocabulary},
      {"Glm4ForCausalLM", list_glm4},
      {"Glm4MoeForCausalLM", list_glm4_moe},
      {"Glm4MoeLiteForCausalLM", list_deepseek_v3},
      {"GlmMoeDsaForCausalLM", list_deepseek_v32},
      {"GptOssForCausalLM", list_gpt_oss},
      {"GraniteMoeForCausalLM", list_granite_moe},
      {"KimiK25ForConditionalGeneration", list_kimi_k25},
      {"KimiK3ForConditionalGeneration", list_kimi_k3},
      {"LlamaForCausalLM", list_llama},
      {"MiMoForCausalLM", list_mimo},
      {"MiniMaxM1ForCausalLM", list_minimax_m1},
      {"MiniMaxM2ForCausalLM", list_minimax_m2},
      {"Mistral3ForConditionalGeneration", list_mistral3},
      {"MistralForCausalLM", list_llama},
      {"MixtralForCausalLM", list_mixtral},
      {"NemotronHForCausalLM", list_nemotron_h},
      {"Olmo2ForCausalLM", list_olmo2},
      {"Olmo3ForCausalLM", list_olmo2},
      {"OlmoeForCausalLM", list_olmoe},
      {"Phi3ForCausalLM", list_phi3},
      {"Qwen2ForCausalLM", list_qwen2},
      {"Qwen2MoeForCausalLM", list_qwen2_moe},
      {"Qwen2_5_VLForConditionalGeneration", list_qwen25_vl},
      {"Qwen3ForCausalLM", list_qwen3},
      {"Qwen3MoeForCausalLM", list_qwen3_moe},
      {"Qwen3NextForCausalLM", list_qwen3_next},
      {"Qwen3VLForConditionalGeneration", list_qwen3_vl},
      {"Qwen3VLMoeForConditionalGeneration", list_qwen3_vl_moe},
      {"Qwen3_5ForCausalLM", list_qwen35},
      {"Qwen3_5ForConditionalGeneration", list_qwen35_multimodal},
      {"Qwen3_5MoeForCausalLM", list_qwen35_moe},
      {"Qwen3_5MoeForConditionalGeneration", list_qwen35_moe_multimodal},
      {"SeedOssForCausalLM", list_seed_oss},
  };
  return kFamilies;
}

}  // namespace refit
