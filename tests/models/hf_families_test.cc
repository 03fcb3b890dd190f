// Architectures beyond the catalog's: totals as their pages print them (the number of parameters of
// all safetensors of a checkpoint), and what makes each family differ from its neighbours.
#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "models/import/hf_config.h"
#include "models/megatron.h"

using namespace refit;

namespace {

ModelSpec model_of(const std::string& architecture, const std::string& keys, bool mtp = false) {
  HfConfigOptions options;
  options.mtp = mtp;
  return parse_hf_config(fmt::format(R"({{"architectures": ["{}"], {}}})", architecture, keys),
                         architecture, options);
}

const TensorSpec& find(const ModelSpec& model, const std::string& name) {
  const auto at = std::find_if(model.tensors.begin(), model.tensors.end(),
                               [&](const TensorSpec& tensor) { return tensor.name == name; });
  if (at == model.tensors.end()) FAIL("no tensor " << name);
  return *at;
}

bool has(const ModelSpec& model, const std::string& name) {
  return std::any_of(model.tensors.begin(), model.tensors.end(),
                     [&](const TensorSpec& tensor) { return tensor.name == name; });
}

struct Row {
  const char* architecture;
  const char* name;
  const char* keys;
  std::int64_t parameters;
};

// Of multimodal models the text part: what is printed, less the vision tower and its projector.
const Row kRows[] = {
    {"OlmoeForCausalLM", "OLMoE-1B-7B",
     R"("hidden_size": 2048, "intermediate_size": 1024, "num_attention_heads": 16,
        "num_key_value_heads": 16, "num_hidden_layers": 16, "num_experts": 64, "vocab_size": 50304)",
     6'919'161'856},
    {"Qwen2MoeForCausalLM", "Qwen1.5-MoE-A2.7B",
     R"("hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632, "num_attention_heads": 16,
        "num_key_value_heads": 16, "num_hidden_layers": 24, "num_experts": 60,
        "vocab_size": 151936)",
     14'315'784'192},
    {"SeedOssForCausalLM", "Seed-OSS-36B",
     R"("hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 80,
        "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 64, "vocab_size": 155136,
        "attention_bias": true, "attention_out_bias": false)",
     36'151'104'512},
    {"Glm4ForCausalLM", "GLM-4-9B-0414",
     R"("hidden_size": 4096, "intermediate_size": 13696, "num_attention_heads": 32,
        "num_key_value_heads": 2, "head_dim": 128, "num_hidden_layers": 40, "vocab_size": 151552,
        "attention_bias": true)",
     9'400'279'040},
    {"Phi3ForCausalLM", "phi-4",
     R"("hidden_size": 5120, "intermediate_size": 17920, "num_attention_heads": 40,
        "num_key_value_heads": 10, "num_hidden_layers": 40, "vocab_size": 100352)",
     14'659'507'200},
    {"Olmo2ForCausalLM", "OLMo-2-1124-7B",
     R"("hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
        "num_key_value_heads": 32, "num_hidden_layers": 32, "vocab_size": 100352)",
     7'298'617'344},
    {"Gemma2ForCausalLM", "gemma-2-2b",
     R"("hidden_size": 2304, "intermediate_size": 9216, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "num_hidden_layers": 26, "vocab_size": 256000)",
     2'614'341'888},
    {"Gemma3ForCausalLM", "gemma-3-1b",
     R"("hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 256, "num_hidden_layers": 26, "vocab_size": 262144)",
     999'885'952},
    {"Gemma3ForConditionalGeneration", "gemma-3-4b",  // heads and vocabulary are left out
     R"("text_config": {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34},
        "vision_config": {})",
     4'300'079'472 - 416'866'032 - 2'950'272},
    {"Mistral3ForConditionalGeneration", "Mistral-Small-3.1-24B",  // as Mistral-Small-24B-2501
     R"("text_config": {"hidden_size": 5120, "intermediate_size": 32768, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 131072})",
     23'572'403'200},
    {"Qwen2_5_VLForConditionalGeneration", "Qwen2.5-VL-7B",  // as Qwen2.5-7B
     R"("hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064)",
     7'615'616'512},
    {"Qwen3VLForConditionalGeneration", "Qwen3-VL-8B",  // as Qwen3-8B
     R"("text_config": {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 151936}, "tie_word_embeddings": false)",
     8'190'735'360},
    {"Qwen3VLMoeForConditionalGeneration", "Qwen3-VL-30B-A3B",  // as Qwen3-30B-A3B
     R"("text_config": {"hidden_size": 2048, "intermediate_size": 6144,
        "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "vocab_size": 151936},
        "tie_word_embeddings": false)",
     30'532'122'624},
    {"Ernie4_5_MoeForCausalLM", "ERNIE-4.5-21B-A3B",
     R"("hidden_size": 2560, "intermediate_size": 12288, "moe_intermediate_size": 1536,
        "moe_num_experts": 64, "moe_num_shared_experts": 2, "moe_layer_start_index": 1,
        "moe_layer_end_index": -1, "moe_layer_interval": 1, "num_attention_heads": 20,
        "num_key_value_heads": 4, "num_hidden_layers": 28, "vocab_size": 103424, "use_bias": false)",
     21'825'437'888},
    {"Dots1ForCausalLM", "dots.llm1",
     R"("hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 32,
        "head_dim": 128, "n_routed_experts": 128, "n_shared_experts": 2,
        "first_k_dense_replace": 1, "vocab_size": 152064)",
     142'774'381'696},
};

// DeepSeek's shape made small: 4 layers, the first of them dense.
const std::string kLatent =
    R"("hidden_size": 64, "intermediate_size": 96, "moe_intermediate_size": 16,
       "num_hidden_layers": 4, "num_attention_heads": 4, "n_routed_experts": 8,
       "n_shared_experts": 1, "first_k_dense_replace": 1, "q_lora_rank": 24, "kv_lora_rank": 16,
       "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "vocab_size": 100,
       "num_nextn_predict_layers": 1)";
const std::string kIndexer = R"(, "index_n_heads": 2, "index_head_dim": 8)";

}  // namespace

TEST_CASE("families: each has the published number of parameters", "[models][hf]") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    CHECK(model_of(row.architecture, row.keys).parameters() == row.parameters);
  }
}

TEST_CASE("families: sparse attention has an indexer that every rank holds whole", "[models][hf]") {
  const ModelSpec plain = model_of("DeepseekV3ForCausalLM", kLatent);
  const ModelSpec sparse = model_of("DeepseekV32ForCausalLM", kLatent + kIndexer);
  // 16 x 24 for queries, 8 x 64 for keys, a norm of 8 with a bias, 2 x 64 weights; in 4 layers.
  CHECK(sparse.parameters() - plain.parameters() == 4 * (16 * 24 + 8 * 64 + 2 * 8 + 2 * 64));
  const TensorSpec& wq = find(sparse, "model.layers.3.self_attn.indexer.wq_b.weight");
  CHECK(wq.role == Role::attention);
  for (const TensorDim& dim : wq.dims) CHECK(dim.axis == Axis::none);
  CHECK_FALSE(has(plain, "model.layers.3.self_attn.indexer.wq_b.weight"));
  // A prediction module has one, too.
  CHECK(has(model_of("DeepseekV32ForCausalLM", kLatent + kIndexer, true),
            "model.layers.4.self_attn.indexer.wk.weight"));
  REQUIRE_THROWS_WITH(model_of("GlmMoeDsaForCausalLM", kLatent),
                      Catch::Contains("missing key 'index_n_heads'"));
}

TEST_CASE("families: layers that share an indexer have none", "[models][hf]") {
  const auto glm = [](const std::string& more) {
    return model_of("GlmMoeDsaForCausalLM", kLatent + kIndexer + more);
  };
  const ModelSpec shared = glm(R"(, "indexer_types": ["full", "shared", "full", "shared"])");
  CHECK(has(shared, "model.layers.2.self_attn.indexer.k_norm.bias"));
  CHECK_FALSE(has(shared, "model.layers.1.self_attn.indexer.k_norm.bias"));
  REQUIRE_THROWS_WITH(glm(R"(, "indexer_types": ["full"])"),
                      Catch::Contains("1 entries for 4 layers"));
  REQUIRE_THROWS_WITH(glm(R"(, "indexer_types": ["full", "half", "full", "full"])"),
                      Catch::Contains("'half' is not known; use one of full, shared"));
  REQUIRE_THROWS_WITH(glm(R"(, "index_topk_freq": 4)"),
                      Catch::Contains("missing key 'indexer_types'"));
}

TEST_CASE("families: a list says outright which layers are dense", "[models][hf]") {
  const ModelSpec model =
      model_of("DeepseekV3ForCausalLM",
               kLatent + R"(, "mlp_layer_types": ["sparse", "dense", "sparse", "sparse"])");
  CHECK(has(model, "model.layers.1.mlp.gate_proj.weight"));
  CHECK(has(model, "model.layers.0.mlp.experts.{expert}.gate_proj.weight"));
  REQUIRE_THROWS_WITH(model_of("DeepseekV3ForCausalLM",
                               kLatent + R"(, "mlp_layer_types": ["sparse", "x", "x", "x"])"),
                      Catch::Contains("'x' is not known; use one of dense, sparse"));
}

TEST_CASE("families: names of the language model inside another", "[models][hf]") {
  const ModelSpec kimi = model_of("KimiK25ForConditionalGeneration",
                                  R"("text_config": {)" + kLatent + "}, \"vision_config\": {}");
  CHECK(kimi.parameters() == model_of("DeepseekV3ForCausalLM", kLatent).parameters());
  CHECK(has(kimi, "language_model.model.layers.1.mlp.gate.weight"));
  CHECK(has(kimi, "language_model.lm_head.weight"));
  const ModelSpec vl = model_of("Qwen3VLMoeForConditionalGeneration", kRows[12].keys);
  CHECK(has(vl, "model.language_model.layers.0.mlp.experts.gate_up_proj"));
  CHECK(has(vl, "lm_head.weight"));
  CHECK(bridge_vocab_divisor(kimi) == 1280);
}

TEST_CASE("families: experts stored in, out are transposed where engines keep them out, in",
          "[models][hf]") {
  const ModelSpec vl = model_of("Qwen3VLMoeForConditionalGeneration", kRows[12].keys);
  const TensorSpec& down = find(vl, "model.language_model.layers.0.mlp.experts.down_proj");
  CHECK(down.dims == std::vector<TensorDim>{
                         {128, Axis::expert, {}}, {768, Axis::ffn, {}}, {2048, Axis::none, {}}});
  const TensorSpec& gate_up = find(vl, "model.language_model.layers.0.mlp.experts.gate_up_proj");
  CHECK(gate_up.dims.back() == TensorDim{1536, Axis::ffn, {768, 768}});
}

TEST_CASE("families: norms stand where the family has them", "[models][hf]") {
  const std::string small =
      R"("hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2,
         "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 1, "vocab_size": 10)";
  const auto norms = [&](const char* architecture) {
    std::string list;
    for (const TensorSpec& tensor : model_of(architecture, small).tensors) {
      const std::size_t at = tensor.name.find("_layernorm");
      if (at != std::string::npos) list += tensor.name.substr(15, at - 15) + " ";
    }
    return list;
  };
  CHECK(norms("Qwen3ForCausalLM") == "input post_attention ");
  CHECK(norms("Olmo2ForCausalLM") == "post_attention post_feedforward ");
  CHECK(norms("Gemma3ForCausalLM") == "input post_attention pre_feedforward post_feedforward ");
  CHECK(norms("Glm4ForCausalLM") == "input post_self_attn post_attention post_mlp ");
  CHECK(model_of("Gemma3ForCausalLM", small).tied_embeddings);
  CHECK_FALSE(model_of("Olmo2ForCausalLM", small).tied_embeddings);
}

TEST_CASE("families: MiMo's prediction layers are counted apart", "[models][hf]") {
  const std::string small =
      R"("hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2,
         "num_key_value_heads": 1, "num_hidden_layers": 2, "vocab_size": 10,
         "num_nextn_predict_layers": 1)";
  const ModelSpec with = model_of("MiMoForCausalLM", small, true);
  const ModelSpec without = model_of("MiMoForCausalLM", small);
  CHECK(without.parameters() == model_of("Qwen2ForCausalLM", small).parameters());
  // A layer (attention 16 x 16 twice, 8 x 16 twice, biases 16 + 8 + 8, three of 32 x 16, two
  // norms), 16 x 32 to join, three norms.
  CHECK(with.parameters() - without.parameters() ==
        2 * 256 + 2 * 128 + 32 + 3 * 512 + 2 * 16 + 512 + 3 * 16);
  CHECK(has(with, "model.mtp_layers.0.input_proj.weight"));
}
