#include "validation/detail/row_model.h"

#include <string>

#include <catch2/catch.hpp>

#include "models/import/hf_config.h"

using namespace refit;

namespace {

// The catalog's name, or the field of the skip.
std::string model_of(const std::string& text, std::optional<double> params_b = {}) {
  PublishedRow row;
  row.model = text;
  row.params_b = params_b;
  const auto found = detail::row_model(row);
  if (const auto* skip = std::get_if<RowSkip>(&found)) return "skip " + skip->field;
  const std::string name = std::get<detail::RowModel>(found).name;
  REQUIRE_NOTHROW(catalog_model(name));
  return name;
}

}  // namespace

TEST_CASE("row model: spellings of models", "[validation]") {
  const std::pair<const char*, const char*> table[] = {
      {"Qwen3-235B-A22B", "qwen3-235b-a22b"},
      {"Qwen3-235B (by size)", "qwen3-235b-a22b"},
      {"Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"},
      {"Qwen 3 235B", "qwen3-235b-a22b"},
      {"Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
      {"Qwen3-Coder-30B-A3B", "qwen3-30b-a3b"},
      {"Qwen3-4B (dense)", "qwen3-4b"},
      {"Qwen3-14B", "qwen3-14b"},
      {"Qwen3.5-397B", "qwen3.5-397b-a17b"},
      {"Qwen3.5-27B", "qwen3.5-27b"},
      {"Qwen3.8 2.4T-A95B", "qwen3.8-2.4t-a95b"},
      {"Qwen2.5-7B-Instruct", "qwen2.5-7b"},
      {"DeepSeek-R1-Distill-Qwen-32B", "qwen2.5-32b"},
      {"DeepSeek-V3", "deepseek-v3"},
      {"DeepSeek-V3-0324", "deepseek-v3"},
      {"DeepSeekV3.1", "deepseek-v3"},
      {"deepseek-r1 671B", "deepseek-r1"},
      {"Kimi-K2-Instruct", "kimi-k2"},
      {"Kimi K2 Thinking", "kimi-k2"},
      {"Moonlight-16B-A3B", "moonlight-16b-a3b"},
      {"GLM-4.5", "glm-4.5"},
      {"GLM4.5-Air", "glm-4.5-air"},
      {"GLM-4.7-Flash", "glm-4.7-flash"},
      {"GLM-4.7", "glm-4.6"},
      {"Nemotron Ultra v3 (550B class)", "nemotron-3-ultra-550b-a55b"},
      {"Nemotron-3 Super 120B (by size)", "nemotron-3-super-120b-a12b"},
      {"Nemotron-3 Nano class (by size)", "nemotron-3-nano-30b-a3b"},
      {"Llama-3.3-70B-Instruct", "llama-3.1-70b"},
      {"gpt-oss-20b", "gpt-oss-20b"},
      {"", "skip model"},
      {"120B", "skip model"},
      {"Llama-3_3-Nemotron-Super-49B", "skip model"},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(model_of(text) == expected);
  }
}

TEST_CASE("row model: a model of its kind and size stands in", "[validation]") {
  // 30.53 B is 1.5 % below 31 B; no mixture is within 5 % of 50 B.
  REQUIRE(model_of("Some-31B-A4B", 31.0) == "qwen3-30b-a3b");
  REQUIRE(model_of("Some 8B (dense)", 8.1) == "llama-3.1-8b");  // 8.03 B before Qwen3's 8.19 B
  REQUIRE(model_of("Some-50B-A5B", 50.0) == "skip model");
  REQUIRE(model_of("Some-31B", 31.0) == "skip model");  // dense or a mixture, nobody says
}
