#include "models/import/hf_config.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include <catch2/catch.hpp>

#include <regex>

#include "base/error.h"

using namespace refit;

namespace {

// A small configuration as key -> JSON text, so that a test changes one key and nothing else.
using Config = std::map<std::string, std::string>;

std::string text(const Config& config) {
  std::string json = "{";
  for (const auto& [key, value] : config) {
    json += (json.size() > 1 ? ", \"" : "\"") + key + "\": " + value;
  }
  return json + "}";
}

// Messages of these tests leave line and column out; places have a test of their own.
ModelSpec parse_text(const std::string& json, const std::string& name,
                     const HfConfigOptions& options = {}) {
  try {
    return parse_hf_config(json, name, options);
  } catch (const Error& error) {
    static const std::regex place("(json):[0-9]+:[0-9]+: ");
    throw Error(error.code(), std::regex_replace(error.what(), place,
                                                 "$1: ", std::regex_constants::format_first_only));
  }
}

ModelSpec parse(const Config& config, const HfConfigOptions& options = {}) {
  return parse_text(text(config), "config.json", options);
}

Config with(Config config, const std::string& key, const std::string& value) {
  config[key] = value;
  return config;
}

Config without(Config config, const std::string& key) {
  config.erase(key);
  return config;
}

const Config kLlama = {{"architectures", R"(["LlamaForCausalLM"])"},
                       {"hidden_size", "64"},
                       {"intermediate_size", "96"},
                       {"num_attention_heads", "8"},
                       {"num_hidden_layers", "2"},
                       {"num_key_value_heads", "2"},
                       {"vocab_size", "100"}};

Config llama_as(const std::string& architecture, Config more) {
  more.insert(kLlama.begin(), kLlama.end());
  more["architectures"] = "[\"" + architecture + "\"]";
  return more;
}

const Config kQwenMoe =
    llama_as("Qwen3MoeForCausalLM",
             {{"head_dim", "8"}, {"num_experts", "4"}, {"moe_intermediate_size", "16"}});

const Config kNemotron = llama_as("NemotronHForCausalLM", {{"head_dim", "8"},
                                                           {"mamba_num_heads", "4"},
                                                           {"mamba_head_dim", "8"},
                                                           {"n_groups", "2"},
                                                           {"ssm_state_size", "16"},
                                                           {"conv_kernel", "4"},
                                                           {"hybrid_override_pattern", "\"M*\""}});

const Config kKimi =
    llama_as("KimiK3ForConditionalGeneration",
             {{"num_experts", "4"},
              {"moe_intermediate_size", "16"},
              {"routed_expert_hidden_size", "32"},
              {"q_lora_rank", "8"},
              {"kv_lora_rank", "8"},
              {"qk_nope_head_dim", "8"},
              {"qk_rope_head_dim", "4"},
              {"v_head_dim", "8"},
              {"linear_attn_config",
               R"({"kda_layers": [1], "full_attn_layers": [2], "num_heads": 8, "head_dim": 8,
                   "short_conv_kernel_size": 4, "use_full_rank_gate": true})"}});

bool has_tensor(const ModelSpec& model, const std::string& name) {
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.name == name) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a config's complaint says line and column of the key, or of the object that lacks it",
          "[models][hf]") {
  REQUIRE_THROWS_WITH(
      parse_hf_config("{\n  \"architectures\": [\"LlamaForCausalLM\"],\n  \"hidden_size\": 0\n}",
                      "c.json"),
      "c.json:3:3: key 'hidden_size': expected an integer from 1 to 2147483648, got 0");
  REQUIRE_THROWS_WITH(
      parse_hf_config("{\n  \"architectures\": [\"LlamaForCausalLM\"]\n}", "c.json"),
      "c.json:1:1: missing key 'hidden_size'");
  REQUIRE_THROWS_WITH(
      parse_hf_config("{\"architectures\": [\"LlamaForCausalLM\"], \"x\": {\"hidden_size\": 1},\n"
                      " \"text_config\": {\"vocab_size\": 5,\n  \"hidden_size\": \"8\"}}",
                      "c.json"),
      "c.json:3:3: key 'text_config.hidden_size': expected an integer from 1 to 2147483648, got "
      "\"8\"");
}

TEST_CASE("config: a small dense model has the parameters counted by hand", "[models]") {
  // Layer: q, o 64 x 64; k, v 16 x 64 (2 heads of 64 / 8); three of 96 x 64; two norms of 64:
  //   2 * 4096 + 2 * 1024 + 3 * 6144 + 2 * 64 = 28,800
  // Two layers, embedding and head 100 x 64 each, a norm: 57,600 + 12,800 + 64.
  const ModelSpec model = parse(kLlama);
  REQUIRE(model.parameters() == 70'464);
  REQUIRE(model.checkpoint_tensors() == 2 * 9 + 3);
  REQUIRE(model.heads == HeadGroups{8, 2, 8, false});
  REQUIRE(model.name == "config.json");

  SECTION("head_dim, if given, wins over hidden_size / num_attention_heads") {
    // q, o 128 x 64 and k, v 32 x 64: another 4096 * 2 + 1024 * 2 per layer.
    REQUIRE(parse(with(kLlama, "head_dim", "16")).parameters() == 70'464 + 2 * 10'240);
  }
  SECTION("tied embeddings are listed once") {
    const ModelSpec tied = parse(with(kLlama, "tie_word_embeddings", "true"));
    REQUIRE(tied.tied_embeddings);
    REQUIRE(tied.parameters() == 70'464 - 6'400);
    REQUIRE_FALSE(has_tensor(tied, "lm_head.weight"));
  }
  SECTION("biases where declared: q 64, k and v 16, o 64; gate and up 96, down 64") {
    REQUIRE(parse(with(kLlama, "attention_bias", "true")).parameters() == 70'464 + 2 * 160);
    REQUIRE(parse(with(kLlama, "mlp_bias", "true")).parameters() == 70'464 + 2 * 256);
    // Qwen2 has biases on q, k and v and does not say so.
    REQUIRE(parse(llama_as("Qwen2ForCausalLM", {})).parameters() == 70'464 + 2 * 96);
  }
}

TEST_CASE("config: a nested language model is read, with outer keys where they are outer",
          "[models]") {
  const std::string json = R"({"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": true,
    "hidden_size": 5, "text_config": )" +
                           text(without(kLlama, "architectures")) + "}";
  const ModelSpec model = parse_text(json, "x.json");
  REQUIRE(model.hidden == 64);
  REQUIRE(model.tied_embeddings);
  REQUIRE_THROWS_WITH(
      parse_text(R"({"architectures": ["LlamaForCausalLM"], "text_config": {"hidden_size": 0}})",
                 "x.json"),
      "x.json: key 'text_config.hidden_size': expected an integer from 1 to 2147483648, got 0");
}

TEST_CASE("config: Infinity and NaN are fine where nobody asks for a number", "[models]") {
  REQUIRE(parse(with(kLlama, "time_step_limit", "[0.0, Infinity]")).parameters() == 70'464);
  REQUIRE_THROWS_WITH(parse(with(kLlama, "hidden_size", "Infinity")),
                      "config.json: key 'hidden_size': expected an integer from 1 to 2147483648, "
                      "got \"Infinity\"");
}

TEST_CASE("config: experts are counted under every spelling", "[models]") {
  const std::int64_t expected = parse(kQwenMoe).parameters();
  for (const char* key : {"n_routed_experts", "num_local_experts", "num_routed_experts"}) {
    CAPTURE(key);
    REQUIRE(parse(with(without(kQwenMoe, "num_experts"), key, "4")).parameters() == expected);
  }
  REQUIRE_THROWS_WITH(parse(with(kQwenMoe, "num_local_experts", "8")),
                      "config.json: key 'num_local_experts': 8 disagrees with 'num_experts', "
                      "which is 4; keep one");
}

TEST_CASE("config: experts without their number are an error, not a small dense model",
          "[models]") {
  REQUIRE_THROWS_WITH(parse(without(kQwenMoe, "num_experts")),
                      "config.json: missing key 'num_experts' (also spelled 'n_routed_experts', "
                      "'num_local_experts', 'num_routed_experts')");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "moe_intermediate_size", "16")),
                      "config.json: key 'moe_intermediate_size': stands without a number of "
                      "experts: missing key 'num_experts', and 'architectures' names "
                      "LlamaForCausalLM, which has none");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "num_local_experts", "8")),
                      "config.json: key 'num_local_experts': LlamaForCausalLM has no experts; name "
                      "an architecture that has them");
  // Nothing is said about experts by a null.
  REQUIRE_NOTHROW(parse(with(kLlama, "moe_intermediate_size", "null")));
}

TEST_CASE("config: dense layers among those with experts", "[models]") {
  SECTION("the first ones") {
    const ModelSpec model = parse(with(kQwenMoe, "first_k_dense_replace", "1"));
    REQUIRE(has_tensor(model, "model.layers.0.mlp.up_proj.weight"));
    REQUIRE(has_tensor(model, "model.layers.1.mlp.experts.{expert}.up_proj.weight"));
  }
  SECTION("every other one: with a step of 2 layers 1, 3, ... have experts") {
    const ModelSpec model = parse(with(kQwenMoe, "decoder_sparse_step", "2"));
    REQUIRE(has_tensor(model, "model.layers.0.mlp.up_proj.weight"));
    REQUIRE(has_tensor(model, "model.layers.1.mlp.experts.{expert}.up_proj.weight"));
  }
  SECTION("listed ones") {
    const ModelSpec model = parse(with(kQwenMoe, "mlp_only_layers", "[1]"));
    REQUIRE(has_tensor(model, "model.layers.0.mlp.experts.{expert}.up_proj.weight"));
    REQUIRE(has_tensor(model, "model.layers.1.mlp.up_proj.weight"));
    REQUIRE_THROWS_WITH(parse(with(kQwenMoe, "mlp_only_layers", "[2]")),
                        "config.json: key 'mlp_only_layers': expected an integer from 0 to 1, "
                        "got 2");
  }
  SECTION("their width is needed only if there are any") {
    REQUIRE_NOTHROW(parse(without(kQwenMoe, "intermediate_size")));
    REQUIRE_THROWS_WITH(
        parse(with(without(kQwenMoe, "intermediate_size"), "first_k_dense_replace", "1")),
        "config.json: missing key 'intermediate_size'");
  }
}

TEST_CASE("config: published sizes of models beyond the catalog", "[models]") {
  SECTION("small models tie the head to the embedding, which is listed and sent once") {
    const auto small = [](const char* architecture, int hidden, int width, int heads, int groups,
                          int layers, int vocab, Config more) {
      more.insert({{"architectures", std::string("[\"") + architecture + "\"]"},
                   {"hidden_size", std::to_string(hidden)},
                   {"intermediate_size", std::to_string(width)},
                   {"num_attention_heads", std::to_string(heads)},
                   {"num_key_value_heads", std::to_string(groups)},
                   {"num_hidden_layers", std::to_string(layers)},
                   {"vocab_size", std::to_string(vocab)},
                   {"tie_word_embeddings", "true"}});
      const ModelSpec model = parse(more);
      REQUIRE(model.tied_embeddings);
      REQUIRE_FALSE(has_tensor(model, "lm_head.weight"));
      return model;
    };
    // Llama 3.2 1B and 3B; 9 tensors a layer, the embedding and the last norm.
    const ModelSpec llama = small("LlamaForCausalLM", 2048, 8192, 32, 8, 16, 128'256,
                                  {{"head_dim", "64"}, {"rope_scaling", R"({"factor": 32.0})"}});
    REQUIRE(llama.parameters() == 1'235'814'400);
    REQUIRE(llama.checkpoint_tensors() == 146);
    REQUIRE(small("LlamaForCausalLM", 3072, 8192, 24, 8, 28, 128'256, {{"head_dim", "128"}})
                .parameters() == 3'212'749'824);
    // Qwen2.5 0.5B and 1.5B: biases on q, k and v make 12 tensors a layer.
    REQUIRE(small("Qwen2ForCausalLM", 896, 4864, 14, 2, 24, 151'936, {}).parameters() ==
            494'032'768);
    const ModelSpec qwen = small("Qwen2ForCausalLM", 1536, 8960, 12, 2, 28, 151'936, {});
    REQUIRE(qwen.parameters() == 1'543'714'304);
    REQUIRE(qwen.checkpoint_tensors() == 338);
    // Qwen3 0.6B and 4B.
    REQUIRE(small("Qwen3ForCausalLM", 1024, 3072, 16, 8, 28, 151'936, {{"head_dim", "128"}})
                .parameters() == 596'049'920);
    REQUIRE(small("Qwen3ForCausalLM", 2560, 9728, 32, 8, 36, 151'936, {{"head_dim", "128"}})
                .parameters() == 4'022'468'096);
  }
  SECTION("Mixtral with 56 layers: 1,739 tensors, 281,241,268,224 bytes in the index") {
    const ModelSpec model = parse({{"architectures", R"(["MixtralForCausalLM"])"},
                                   {"hidden_size", "6144"},
                                   {"intermediate_size", "16384"},
                                   {"num_attention_heads", "48"},
                                   {"num_hidden_layers", "56"},
                                   {"num_key_value_heads", "8"},
                                   {"num_local_experts", "8"},
                                   {"vocab_size", "32000"}});
    REQUIRE(model.checkpoint_tensors() == 1'739);
    REQUIRE(model.bytes() == 281'241'268'224);
  }
  SECTION("Qwen3-Next: 81,324,862,720 parameters with the module its config does not mention") {
    const Config next = {{"architectures", R"(["Qwen3NextForCausalLM"])"},
                         {"full_attention_interval", "4"},
                         {"head_dim", "256"},
                         {"hidden_size", "2048"},
                         {"linear_conv_kernel_dim", "4"},
                         {"linear_key_head_dim", "128"},
                         {"linear_num_key_heads", "16"},
                         {"linear_num_value_heads", "32"},
                         {"linear_value_head_dim", "128"},
                         {"moe_intermediate_size", "512"},
                         {"num_attention_heads", "16"},
                         {"num_experts", "512"},
                         {"num_hidden_layers", "48"},
                         {"num_key_value_heads", "2"},
                         {"shared_expert_intermediate_size", "512"},
                         {"vocab_size", "151936"}};
    REQUIRE(parse(next, {.mtp = true}).parameters() == 81'324'862'720);
  }
  SECTION("Granite: fused experts and a tied head, 1.33 billion parameters") {
    // Layer: q, o 2^20 each, k, v 2^19 each; router 32 x 1024; 32 experts of 3 x 512 x 1024; two
    // norms: 3,145,728 + 32,768 + 50,331,648 + 2,048. Embedding 49155 x 1024, final norm 1024.
    const ModelSpec model = parse({{"architectures", R"(["GraniteMoeForCausalLM"])"},
                                   {"hidden_size", "1024"},
                                   {"intermediate_size", "512"},
                                   {"num_attention_heads", "16"},
                                   {"num_hidden_layers", "24"},
                                   {"num_key_value_heads", "8"},
                                   {"num_local_experts", "32"},
                                   {"tie_word_embeddings", "true"},
                                   {"vocab_size", "49155"}});
    REQUIRE(model.parameters() == 24 * 53'512'192LL + 50'334'720 + 1'024);
  }
}

TEST_CASE("config: an unknown architecture is refused with the known ones", "[models]") {
  REQUIRE_THROWS_WITH(
      parse(llama_as("FalconForCausalLM", {})),
      "config.json: key 'architectures': 'FalconForCausalLM' is not known; known are "
      "BailingMoeV2ForCausalLM, DeepseekV2ForCausalLM, DeepseekV32ForCausalLM, "
      "DeepseekV3ForCausalLM, Dots1ForCausalLM, Ernie4_5_MoeForCausalLM, "
      "Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3ForConditionalGeneration, "
      "Glm4ForCausalLM, Glm4MoeForCausalLM, Glm4MoeLiteForCausalLM, GlmMoeDsaForCausalLM, "
      "GptOssForCausalLM, GraniteMoeForCausalLM, KimiK25ForConditionalGeneration, "
      "KimiK3ForConditionalGeneration, LlamaForCausalLM, MiMoForCausalLM, "
      "MiniMaxM1ForCausalLM, MiniMaxM2ForCausalLM, Mistral3ForConditionalGeneration, "
      "MistralForCausalLM, MixtralForCausalLM, NemotronHForCausalLM, Olmo2ForCausalLM, "
      "Olmo3ForCausalLM, OlmoeForCausalLM, Phi3ForCausalLM, Qwen2ForCausalLM, "
      "Qwen2MoeForCausalLM, Qwen2_5_VLForConditionalGeneration, Qwen3ForCausalLM, "
      "Qwen3MoeForCausalLM, Qwen3NextForCausalLM, Qwen3VLForConditionalGeneration, "
      "Qwen3VLMoeForConditionalGeneration, Qwen3_5ForCausalLM, "
      "Qwen3_5ForConditionalGeneration, Qwen3_5MoeForCausalLM, "
      "Qwen3_5MoeForConditionalGeneration, SeedOssForCausalLM");
  REQUIRE_THROWS_WITH(parse(without(kLlama, "architectures")),
                      "config.json: missing key 'architectures'");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "architectures", "[]")),
                      "config.json: key 'architectures': expected one name, got 0");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "architectures", "[1]")),
                      "config.json: key 'architectures': expected a list of words, got 1");
}

TEST_CASE("config: a missing or wrong value names its key", "[models]") {
  REQUIRE_THROWS_WITH(parse(without(kLlama, "vocab_size")),
                      "config.json: missing key 'vocab_size'");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "hidden_size", "\"64\"")),
                      "config.json: key 'hidden_size': expected an integer from 1 to 2147483648, "
                      "got \"64\"");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "hidden_size", "64.5")),
                      "config.json: key 'hidden_size': expected an integer from 1 to 2147483648, "
                      "got 64.5");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "hidden_size", "[64, 64]")),
                      "config.json: key 'hidden_size': expected an integer from 1 to 2147483648, "
                      "got a list of 2");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "attention_bias", "1")),
                      "config.json: key 'attention_bias': expected true or false, got 1");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "text_config", "7")),
                      "config.json: key 'text_config': expected an object, got 7");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "_provenance", "7")),
                      "config.json: key '_provenance': expected a text, got 7");
  REQUIRE_THROWS_WITH(parse_text("[]", "x.json"),
                      "x.json: expected a JSON object, got a list of 0");
  REQUIRE_THROWS_WITH(parse(without(kQwenMoe, "head_dim")), "config.json: missing key 'head_dim'");
}

TEST_CASE("config: numbers that contradict one another are refused", "[models]") {
  REQUIRE_THROWS_WITH(parse(with(kLlama, "num_key_value_heads", "3")),
                      "config.json: key 'num_key_value_heads': 3 does not divide 8 query heads "
                      "(num_attention_heads)");
  REQUIRE_THROWS_WITH(parse(with(with(kLlama, "num_attention_heads", "6"), "hidden_size", "64")),
                      "config.json: key 'num_attention_heads': 6 does not divide hidden_size 64, "
                      "and there is no head_dim");
}

TEST_CASE("config: absurd numbers are refused before anything is allocated", "[models]") {
  REQUIRE_THROWS_WITH(parse(with(kLlama, "num_hidden_layers", "10001")),
                      "config.json: key 'num_hidden_layers': expected an integer from 1 to 10000, "
                      "got 10001");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "num_hidden_layers", "-1")),
                      "config.json: key 'num_hidden_layers': expected an integer from 1 to 10000, "
                      "got -1");
  REQUIRE_THROWS_WITH(parse(with(kLlama, "hidden_size", "18446744073709551615")),
                      "config.json: key 'hidden_size': expected an integer from 1 to 2147483648, "
                      "got 18446744073709551615");
  REQUIRE_THROWS_WITH(parse(with(kQwenMoe, "num_experts", "65537")),
                      "config.json: key 'num_experts': expected an integer from 1 to 65536, got "
                      "65537");
  // 64 prediction modules of as many blocks as letters, with three tensors each.
  Config modules = with(kNemotron, "num_nextn_predict_layers", "64");
  modules = with(modules, "mtp_hybrid_override_pattern", "\"" + std::string(9'000, '-') + "\"");
  REQUIRE_THROWS_WITH(parse(modules, {.mtp = true}),
                      Catch::Contains("config.json: with tensor 'mtp.layers.") &&
                          Catch::Contains("the model has more than 200000 tensors, experts of a "
                                          "layer counted as one; check its numbers of layers and "
                                          "modules"));
  // 65,536 experts of 2^31 x 2^31 are 2^78 elements.
  Config huge = with(kQwenMoe, "num_experts", "65536");
  huge = with(with(huge, "moe_intermediate_size", "2147483648"), "hidden_size", "2147483648");
  REQUIRE_THROWS_WITH(parse(huge),
                      "config.json: with tensor 'model.layers.0.mlp.experts.{expert}.gate_proj."
                      "weight' the model has more than 2^59 elements; check the sizes in the "
                      "configuration");
}

TEST_CASE("config: Nemotron's two spellings of the pattern give the same model", "[models]") {
  const ModelSpec letters = parse(kNemotron);
  Config config = without(without(kNemotron, "hybrid_override_pattern"), "num_hidden_layers");
  const ModelSpec words = parse(with(config, "layers_block_type", R"(["mamba", "attention"])"));
  REQUIRE(letters.layers == 2);
  REQUIRE(words.layers == 2);
  REQUIRE(letters.tensors == words.tensors);

  REQUIRE_THROWS_WITH(parse(with(kNemotron, "hybrid_override_pattern", "\"M*M\"")),
                      "config.json: key 'hybrid_override_pattern': 3 entries for 2 layers; there "
                      "must be one per layer");
  REQUIRE_THROWS_WITH(parse(with(kNemotron, "hybrid_override_pattern", "\"MX\"")),
                      "config.json: key 'hybrid_override_pattern': 'X' is not known; use mamba "
                      "(M), moe (E), attention (*) or mlp (-)");
  REQUIRE_THROWS_WITH(parse(with(config, "layers_block_type", R"(["rnn"])")),
                      "config.json: key 'layers_block_type': 'rnn' is not known; use mamba (M), "
                      "moe (E), attention (*) or mlp (-)");
  REQUIRE_THROWS_WITH(parse(config),
                      "config.json: missing key 'layers_block_type' (also spelled "
                      "'hybrid_override_pattern')");
  REQUIRE_THROWS_WITH(
      parse(with(config, "hybrid_override_pattern", "\"" + std::string(10'001, 'M') + "\"")),
      "config.json: key 'hybrid_override_pattern': 10001 blocks; there must be 1 to 10000");
  REQUIRE_THROWS_WITH(parse(with(kNemotron, "use_bias", "true")),
                      "config.json: key 'use_bias': true is not known for this architecture; only "
                      "false is");
  REQUIRE_THROWS_WITH(parse(with(kNemotron, "hybrid_override_pattern", "\"ME\"")),
                      "config.json: missing key 'num_experts' (also spelled 'n_routed_experts', "
                      "'num_local_experts', 'num_routed_experts')");
  // A prediction module may have blocks that the decoder lacks.
  Config module = with(kNemotron, "mtp_hybrid_override_pattern", "\"*-\"");
  module = with(module, "num_nextn_predict_layers", "1");
  const ModelSpec with_module = parse(module, {.mtp = true});
  REQUIRE(with_module.parameters() - letters.parameters() ==
          // join 64 x 128; attention 2 * 4096 + 2 * 1024; dense 2 * 96 * 64; five norms of 64
          8'192 + 10'240 + 12'288 + 5 * 64);
  // A dense block needs no number of experts.
  REQUIRE(has_tensor(parse(with(kNemotron, "hybrid_override_pattern", "\"M-\"")),
                     "backbone.layers.1.mixer.up_proj.weight"));
}

TEST_CASE("config: each layer of Kimi K3 is in exactly one of its two lists", "[models]") {
  const auto linear = [](const std::string& kda, const std::string& full, const char* rank) {
    return with(kKimi, "linear_attn_config",
                "{\"kda_layers\": " + kda + ", \"full_attn_layers\": " + full +
                    ", \"num_heads\": 8, \"head_dim\": 8, \"short_conv_kernel_size\": 4, "
                    "\"use_full_rank_gate\": " +
                    rank + "}");
  };
  REQUIRE_NOTHROW(parse(kKimi));
  REQUIRE_THROWS_WITH(parse(linear("[1, 2]", "[2]", "true")),
                      "config.json: key 'linear_attn_config.full_attn_layers': layer 2 (counted "
                      "from 1) stands twice");
  REQUIRE_THROWS_WITH(parse(linear("[1]", "[]", "true")),
                      "config.json: key 'linear_attn_config.kda_layers': layer 2 (counted from 1) "
                      "stands neither here nor in full_attn_layers");
  REQUIRE_THROWS_WITH(parse(linear("[0, 1]", "[2]", "true")),
                      "config.json: key 'linear_attn_config.kda_layers': expected an integer from "
                      "1 to 2, got 0");
  REQUIRE_THROWS_WITH(parse(linear("[1]", "[2]", "false")),
                      "config.json: key 'linear_attn_config.use_full_rank_gate': only true is "
                      "known; a low-rank gate has other tensors");
  REQUIRE_THROWS_WITH(parse(with(kKimi, "num_nextn_predict_layers", "1"), {.mtp = true}),
                      "config.json: key 'num_nextn_predict_layers': prediction modules of this "
                      "architecture are not known; only 0 is");
}

TEST_CASE("config: lists with one entry per layer must fit the number of layers", "[models]") {
  const Config minimax =
      llama_as("MiniMaxM1ForCausalLM", {{"head_dim", "8"}, {"num_local_experts", "4"}});
  REQUIRE_NOTHROW(parse(with(minimax, "attn_type_list", "[0, 1]")));
  REQUIRE_THROWS_WITH(parse(with(minimax, "attn_type_list", "[0]")),
                      "config.json: key 'attn_type_list': 1 entries for 2 layers; there must be "
                      "one per layer");
  REQUIRE_THROWS_WITH(parse(with(minimax, "attn_type_list", "[0, 2]")),
                      "config.json: key 'attn_type_list': expected an integer from 0 to 1, got 2");
}

TEST_CASE("config: latent attention without query compression has one query matrix", "[models]") {
  Config config = kKimi;
  config.erase("linear_attn_config");
  config["architectures"] = R"(["DeepseekV3ForCausalLM"])";
  const std::string q_proj = "model.layers.0.self_attn.q_proj.weight";
  REQUIRE_FALSE(has_tensor(parse(config), q_proj));
  REQUIRE(has_tensor(parse(with(config, "q_lora_rank", "null")), q_proj));
  REQUIRE_THROWS_WITH(parse(without(config, "q_lora_rank")),
                      "config.json: missing key 'q_lora_rank'");
}

TEST_CASE("config: a file's name or its folder names the model", "[models]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "refit_hf_config" / "tiny-llama";
  std::filesystem::create_directories(folder);
  for (const char* name : {"config.json", "tiny-llama.config.json", "tiny-llama.json"}) {
    CAPTURE(name);
    const std::filesystem::path path = folder / name;
    std::ofstream(path) << text(kLlama);
    REQUIRE(load_hf_config(path.string()).name == "tiny-llama");
  }
  const std::string bad = (folder / "bad.json").string();
  std::ofstream(bad) << "{\"hidden_size\" 64}";
  // The place is the last character of what should not be there, 64.
  REQUIRE_THROWS_WITH(load_hf_config(bad), Catch::StartsWith(bad + ":1:17: not JSON: "));
  const std::string missing = (folder / "missing.json").string();
  REQUIRE_THROWS_WITH(load_hf_config(missing),
                      missing + ": can't be read; give the path of a config.json");
  REQUIRE_THROWS_WITH(load_hf_config(folder.string()),
                      folder.string() + ": can't be read; give the path of a config.json");
  std::filesystem::remove_all(folder.parent_path());
}
