#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "models/import/hf_config.h"

using namespace refit;

namespace {

// What public sources and a count by hand of every tensor of every layer agree on. Counts of
// tensors and bytes include the prediction module but no copies of embedding and head that a
// checkpoint may store with it. Shares are percent of the parameters without it, to 3 decimals.
struct Golden {
  const char* model;
  std::int64_t parameters;
  std::int64_t mtp_parameters;
  std::int64_t tensors;
  std::int64_t bytes_with_fp32;  // correction biases and recurrent small tensors in FP32
  double routed, shared, dense, latent, attention, linear, embedding, head, router, norm;
};

constexpr Golden kGolden[] = {
    {"qwen3-8b", 8'190'735'360, 0, 399, 16'381'470'720, 0.000, 0.000, 66.365, 0.000, 18.435, 0.000,
     7.598, 7.598, 0.000, 0.004},
    {"qwen3-32b", 32'762'123'264, 0, 707, 65'524'246'528, 0.000, 0.000, 76.814, 0.000, 18.435,
     0.000, 2.374, 2.374, 0.000, 0.002},
    {"qwen3-30b-a3b", 30'532'122'624, 0, 18'867, 61'064'245'248, 94.953, 0.000, 0.000, 0.000, 2.967,
     0.000, 1.019, 1.019, 0.041, 0.001},
    {"qwen3-235b-a22b", 235'093'634'560, 0, 36'945, 470'187'269'120, 96.598, 0.000, 0.000, 0.000,
     2.851, 0.000, 0.265, 0.265, 0.021, 0.000},
    {"deepseek-v3", 671'026'419'200, 11'610'068'224, 46'181, 1'365'273'005'056, 97.449, 0.381,
     0.177, 0.000, 1.701, 0.000, 0.138, 0.138, 0.016, 0.000},
    {"deepseek-r1", 671'026'419'200, 11'610'068'224, 46'181, 1'365'273'005'056, 97.449, 0.381,
     0.177, 0.000, 1.701, 0.000, 0.138, 0.138, 0.016, 0.000},
    {"kimi-k2", 1'026'408'232'448, 0, 69'975, 2'052'816'510'976, 98.858, 0.257, 0.039, 0.000, 0.601,
     0.000, 0.114, 0.114, 0.016, 0.000},
    {"kimi-k3", 2'779'484'476'000, 0, 249'756, 5'558'991'192'448, 97.958, 0.437, 0.026, 0.170,
     0.200, 1.102, 0.042, 0.042, 0.021, 0.000},
    {"qwen3.8-2.4t-a95b", 2'419'804'697'984, 26'378'027'520, 1'609, 4'892'365'486'336, 97.976,
     0.191, 0.000, 0.000, 0.399, 1.250, 0.084, 0.084, 0.016, 0.000},
    {"qwen3.5-397b-a17b", 396'346'350'336, 6'595'568'128, 1'057, 805'883'854'208, 97.528, 0.190,
     0.000, 0.000, 0.397, 1.340, 0.257, 0.257, 0.032, 0.000},
    {"nemotron-3-ultra-550b-a55b", 549'308'993'536, 11'215'610'368, 51'023, 1'121'049'307'136,
     93.826, 1.466, 0.000, 0.293, 0.302, 3.684, 0.195, 0.195, 0.037, 0.000},
    {"nemotron-3-super-120b-a12b", 120'668'707'840, 2'942'325'248, 42'683, 247'222'128'640, 93.432,
     1.460, 0.000, 0.278, 0.236, 3.634, 0.445, 0.445, 0.070, 0.000},
    {"nemotron-3-nano-30b-a3b", 31'577'940'288, 0, 6'243, 63'155'892'352, 93.023, 1.453, 0.000,
     0.000, 0.445, 2.822, 1.116, 1.116, 0.025, 0.000},
    {"gpt-oss-120b", 116'829'156'672, 0, 615, 233'658'313'344, 98.145, 0.000, 0.000, 0.000, 0.818,
     0.000, 0.496, 0.496, 0.011, 0.034},
    {"llama-3.1-8b", 8'030'261'248, 0, 291, 16'060'522'496, 0.000, 0.000, 70.199, 0.000, 16.714,
     0.000, 6.542, 6.542, 0.000, 0.003},
    {"llama-3.1-70b", 70'553'706'496, 0, 723, 141'107'412'992, 0.000, 0.000, 79.899, 0.000, 17.121,
     0.000, 1.489, 1.489, 0.000, 0.002},
    {"llama-3.1-405b", 405'853'388'800, 0, 1'137, 811'706'777'600, 0.000, 0.000, 81.254, 0.000,
     17.709, 0.000, 0.518, 0.518, 0.000, 0.001},
    {"glm-4.5", 352'797'829'024, 3'988'069'792, 44'689, 713'571'826'432, 95.228, 0.595, 0.160,
     0.000, 3.555, 0.000, 0.220, 0.220, 0.021, 0.000},
    {"glm-4.6", 352'797'829'024, 3'988'069'792, 44'689, 713'571'826'432, 95.228, 0.595, 0.160,
     0.000, 3.555, 0.000, 0.220, 0.220, 0.021, 0.000},
    {"mixtral-8x7b", 46'702'792'704, 0, 995, 93'405'585'408, 96.562, 0.000, 0.000, 0.000, 2.874,
     0.000, 0.281, 0.281, 0.002, 0.001},
    {"minimax-m1", 456'089'655'296, 0, 8'243, 912'179'310'592, 95.346, 0.000, 0.000, 0.000, 0.248,
     3.863, 0.270, 0.270, 0.003, 0.000},
    {"minimax-m2", 228'689'764'864, 0, 48'239, 457'379'561'472, 98.247, 0.000, 0.000, 0.000, 1.194,
     0.000, 0.269, 0.269, 0.021, 0.000},
    {"ling-1t", 999'705'328'640, 0, 59'243, 1'999'410'696'192, 97.954, 0.383, 0.181, 0.000, 1.208,
     0.000, 0.129, 0.129, 0.016, 0.000},
    {"ring-1t", 999'705'328'640, 0, 59'243, 1'999'410'696'192, 97.954, 0.383, 0.181, 0.000, 1.208,
     0.000, 0.129, 0.129, 0.016, 0.000},
};

// Counted by hand the same way, without the shares: parameters agree with the published totals.
struct Total {
  const char* model;
  std::int64_t parameters;
  std::int64_t mtp_parameters;
  std::int64_t tensors;
};

constexpr Total kTotals[] = {
    {"qwen3-0.6b", 596'049'920, 0, 310},
    {"qwen3-1.7b", 1'720'574'976, 0, 310},
    {"qwen3-4b", 4'022'468'096, 0, 398},
    {"qwen3-14b", 14'768'307'200, 0, 443},
    {"qwen2.5-0.5b", 494'032'768, 0, 290},
    {"qwen2.5-1.5b", 1'543'714'304, 0, 338},
    {"qwen2.5-3b", 3'085'938'688, 0, 434},
    {"qwen2.5-7b", 7'615'616'512, 0, 339},
    {"qwen2.5-14b", 14'770'033'664, 0, 579},
    {"qwen2.5-32b", 32'763'876'352, 0, 771},
    {"qwen2.5-72b", 72'706'203'648, 0, 963},
    {"llama-3.2-1b", 1'235'814'400, 0, 146},
    {"llama-3.2-3b", 3'212'749'824, 0, 254},
    {"gpt-oss-20b", 20'914'757'184, 0, 411},
    {"qwen3-coder-480b-a35b", 480'154'875'392, 0, 30'321},
    {"glm-4.5-air", 106'852'251'264, 2'375'059'584, 18'327},
    {"glm-4.7-flash", 29'943'393'920, 643'706'176, 9'701},
    {"moonlight-16b-a3b", 15'960'110'208, 0, 5'317},
    {"deepseek-v2-lite", 15'706'484'224, 0, 5'291},
    {"qwen3.5-27b", 26'895'998'464, 424'699'392, 866},
    {"qwen3.5-35b-a3b", 34'660'610'688, 844'640'768, 712},
    {"qwen3.5-122b-a10b", 122'111'526'912, 2'523'679'232, 850},
    {"qwen3-next-80b-a3b", 79'674'391'296, 1'650'471'424, 75'944},
};

double share(const ModelSpec& model, Role role) {
  return 100.0 * static_cast<double>(model.bytes(role)) / static_cast<double>(model.bytes());
}

}  // namespace

TEST_CASE("catalog: every model has the published number of parameters and tensors", "[models]") {
  REQUIRE(catalog_models().size() == std::size(kGolden) + std::size(kTotals));
  for (const Golden& golden : kGolden) {
    CAPTURE(golden.model);
    const ModelSpec main = catalog_model(golden.model);
    REQUIRE(main.parameters() == golden.parameters);
    REQUIRE(main.bytes() == 2 * golden.parameters);  // all BF16

    const ModelSpec with_mtp = catalog_model(golden.model, {.mtp = true});
    REQUIRE(with_mtp.parameters() - main.parameters() == golden.mtp_parameters);
    REQUIRE(with_mtp.checkpoint_tensors() == golden.tensors);

    const ModelSpec fp32 = catalog_model(golden.model, {.mtp = true, .fp32_small_tensors = true});
    REQUIRE(fp32.bytes() == golden.bytes_with_fp32);
  }
}

TEST_CASE("catalog: the other models have the published number of parameters", "[models]") {
  for (const Total& total : kTotals) {
    CAPTURE(total.model);
    const ModelSpec main = catalog_model(total.model);
    REQUIRE(main.parameters() == total.parameters);
    const ModelSpec with_mtp = catalog_model(total.model, {.mtp = true});
    REQUIRE(with_mtp.parameters() - main.parameters() == total.mtp_parameters);
    REQUIRE(with_mtp.checkpoint_tensors() == total.tensors);
  }
}

TEST_CASE("catalog: bytes divide among the roles as counted by hand", "[models]") {
  for (const Golden& golden : kGolden) {
    CAPTURE(golden.model);
    // With the prediction module, which the bytes of a role leave out.
    const ModelSpec model = catalog_model(golden.model);
    const ModelSpec with_mtp = catalog_model(golden.model, {.mtp = true});
    const std::pair<Role, double> shares[] = {
        {Role::routed_expert, golden.routed}, {Role::shared_expert, golden.shared},
        {Role::dense_ffn, golden.dense},      {Role::latent_projection, golden.latent},
        {Role::attention, golden.attention},  {Role::linear_attention, golden.linear},
        {Role::embedding, golden.embedding},  {Role::lm_head, golden.head},
        {Role::router, golden.router},        {Role::norm, golden.norm},
    };
    std::int64_t sum = 0;
    for (const auto& [role, percent] : shares) {
      CAPTURE(to_string(role), share(model, role));
      REQUIRE(std::abs(share(model, role) - percent) <= 0.00051);  // half of the last decimal
      REQUIRE(with_mtp.bytes(role) == model.bytes(role));
      sum += model.bytes(role);
    }
    REQUIRE(sum == model.bytes());  // no tensor without a role
  }
}

TEST_CASE("catalog: models of two published refits have exactly the published bytes", "[models]") {
  // 2,779,484,476,000 and 2,419,804,697,984 parameters, 2 bytes each.
  REQUIRE(catalog_model("kimi-k3").bytes() == 5'558'968'952'000);
  REQUIRE(catalog_model("qwen3.8-2.4t-a95b").bytes() == 4'839'609'395'968);
}

TEST_CASE("catalog: what a bulk path for expert and dense matrices carries", "[models]") {
  // 94 layers x 128 experts x 3 matrices of 1536 x 4096.
  REQUIRE(catalog_model("qwen3-235b-a22b").bytes(Role::routed_expert) ==
          std::int64_t{94} * 128 * 3 * 1536 * 4096 * 2);
  // 58 layers x 256 experts x 3 of 2048 x 7168, and 3 dense layers x 3 of 18432 x 7168.
  const ModelSpec deepseek = catalog_model("deepseek-v3");
  REQUIRE(deepseek.bytes(Role::routed_expert) == 1'307'817'541'632);
  REQUIRE(deepseek.bytes(Role::dense_ffn) == 2'378'170'368);
  // 48 layers x 512 experts x 2 (no gate) of 5120 x 2048 (the latent width).
  REQUIRE(catalog_model("nemotron-3-ultra-550b-a55b").bytes(Role::routed_expert) ==
          1'030'792'151'040);
}

TEST_CASE("catalog: models say where they come from and what they are", "[models]") {
  const std::set<std::string> tied = {"qwen3-0.6b",   "qwen3-1.7b", "qwen3-4b",     "qwen2.5-0.5b",
                                      "qwen2.5-1.5b", "qwen2.5-3b", "llama-3.2-1b", "llama-3.2-3b"};
  for (const std::string& name : catalog_models()) {
    CAPTURE(name);
    const ModelSpec model = catalog_model(name);
    REQUIRE(model.name == name);
    REQUIRE_FALSE(model.provenance.empty());
    REQUIRE(model.tied_embeddings == tied.contains(name));
  }
  const ModelSpec model = catalog_model("nemotron-3-ultra-550b-a55b");
  REQUIRE(model.architecture == "NemotronHForCausalLM");
  REQUIRE(model.layers == 108);  // from the length of the list of blocks: it has no count
  REQUIRE(model.hidden == 8192);
  REQUIRE(model.vocab == 131072);
  REQUIRE(model.experts == 512);
  REQUIRE(model.heads == HeadGroups{64, 2, 128, false});
  REQUIRE(catalog_model("qwen3.8-2.4t-a95b").heads == HeadGroups{64, 4, 256, true});
  REQUIRE(catalog_model("deepseek-v3").heads == HeadGroups{128, 0, 192, false});  // 128 + 64 rows
  REQUIRE(catalog_model("llama-3.1-405b").experts == 0);
}

TEST_CASE("catalog: tensor names are unique and layers are numbered from 0", "[models]") {
  for (const std::string& name : catalog_models()) {
    CAPTURE(name);
    const ModelSpec model = catalog_model(name, {.mtp = true});
    std::set<std::string> names;
    std::set<int> layers;
    for (const TensorSpec& tensor : model.tensors) {
      CAPTURE(tensor.name);
      REQUIRE(names.insert(tensor.name).second);
      if (tensor.layer) layers.insert(*tensor.layer);
      if (tensor.mtp) REQUIRE_FALSE(tensor.layer.has_value());
      REQUIRE((tensor.name.find("{expert}") != std::string::npos) == (tensor.experts > 0));
      for (const TensorDim& dim : tensor.dims) {
        std::int64_t blocks = dim.blocks.empty() ? dim.size : 0;
        for (const std::int64_t block : dim.blocks) blocks += block;
        REQUIRE(blocks == dim.size);
      }
    }
    REQUIRE(static_cast<int>(layers.size()) == model.layers);
    REQUIRE(*layers.begin() == 0);
    REQUIRE(*layers.rbegin() == model.layers - 1);
  }
}

TEST_CASE("catalog: an unknown model is refused with the known ones", "[models]") {
  REQUIRE_THROWS_WITH(catalog_model("gpt-5"),
                      Catch::StartsWith("model 'gpt-5' is not in the catalog; use one of "
                                        "deepseek-r1, deepseek-v2-lite, ") &&
                          Catch::EndsWith("qwen3.8-2.4t-a95b, ring-1t"));
}
