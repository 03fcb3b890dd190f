#include "validation/detail/row_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "models/import/hf_config.h"
#include "validation/detail/cell.h"
#include "validation/detail/words.h"

namespace refit::detail {
namespace {

// A model has these words in its name, blank-separated; the first line that fits counts. Fine-tuned
// and dated releases ("-Instruct-2507", "-Thinking") have the shapes of what they come from.
struct Spelling {
  std::string_view words;
  std::string_view model;
  std::string_view remark = {};
};

constexpr Spelling kSpellings[] = {
    {"distill qwen 7b", "qwen2.5-7b"},
    {"distill qwen 14b", "qwen2.5-14b"},
    {"distill qwen 32b", "qwen2.5-32b"},
    {"distill llama 8b", "llama-3.1-8b"},
    {"distill llama 70b", "llama-3.1-70b"},
    {"deepseek r1", "deepseek-r1"},
    {"deepseek v2 lite", "deepseek-v2-lite"},
    {"deepseek v3.2", "deepseek-v3", "The index projections of DeepSeek-V3.2 are left out."},
    {"deepseek v3.1", "deepseek-v3"},
    {"deepseek v3", "deepseek-v3"},
    {"dsv3", "deepseek-v3"},
    {"kimi k3", "kimi-k3"},
    {"kimi k2.5", "kimi-k2", "The vision part of Kimi-K2.5 is left out."},
    {"kimi k2", "kimi-k2"},
    {"moonlight", "moonlight-16b-a3b"},
    {"llama nemotron super", ""},  // 49 B, of blocks of many shapes
    {"nemotron ultra", "nemotron-3-ultra-550b-a55b"},
    {"nemotron 550b", "nemotron-3-ultra-550b-a55b"},
    {"nemotron super 120b", "nemotron-3-super-120b-a12b"},
    {"nemotron 3 super", "nemotron-3-super-120b-a12b"},
    {"nemotron 3 nano", "nemotron-3-nano-30b-a3b"},
    {"nemotron nano 30b", "nemotron-3-nano-30b-a3b"},
    {"glm 4.5 air", "glm-4.5-air"},
    {"glm 4.5 106b", "glm-4.5-air"},
    {"glm 4.7 30b", "glm-4.7-flash"},
    {"glm 4.7 flash", "glm-4.7-flash"},
    {"glm 4.5", "glm-4.5"},
    {"glm 4.6", "glm-4.6"},
    {"glm 4.7", "glm-4.6"},
    {"gpt oss 120b", "gpt-oss-120b"},
    {"gpt oss 20b", "gpt-oss-20b"},
    {"llama 405b", "llama-3.1-405b"},
    {"llama 70b", "llama-3.1-70b"},
    {"llama 8b", "llama-3.1-8b"},
    {"llama 3.2 3b", "llama-3.2-3b"},
    {"llama 3.2 1b", "llama-3.2-1b"},
    {"mixtral 8x7b", "mixtral-8x7b"},
    {"minimax m1", "minimax-m1"},
    {"minimax m2", "minimax-m2"},
    {"ling 1t", "ling-1t"},
    {"ring 1t", "ring-1t"},
    {"qwen3.8 2.4t", "qwen3.8-2.4t-a95b"},
    {"qwen3.5 397b", "qwen3.5-397b-a17b"},
    {"qwen3.5 122b", "qwen3.5-122b-a10b"},
    {"qwen3.5 35b", "qwen3.5-35b-a3b"},
    {"qwen3.5 27b", "qwen3.5-27b"},
    {"qwen3 next", "qwen3-next-80b-a3b"},
    {"qwen3 480b", "qwen3-coder-480b-a35b"},
    {"qwen3 235b", "qwen3-235b-a22b"},
    {"qwen3 30b", "qwen3-30b-a3b"},
    {"qwen3 0.6b", "qwen3-0.6b"},
    {"qwen3 1.7b", "qwen3-1.7b"},
    {"qwen3 4b", "qwen3-4b"},
    {"qwen3 8b", "qwen3-8b"},
    {"qwen3 14b", "qwen3-14b"},
    {"qwen3 32b", "qwen3-32b"},
    {"qwen2.5 0.5b", "qwen2.5-0.5b"},
    {"qwen2.5 1.5b", "qwen2.5-1.5b"},
    {"qwen2.5 3b", "qwen2.5-3b"},
    {"qwen2.5 7b", "qwen2.5-7b"},
    {"qwen2.5 14b", "qwen2.5-14b"},
    {"qwen2.5 32b", "qwen2.5-32b"},
    {"qwen2.5 72b", "qwen2.5-72b"},
};

bool fits(const Spelling& spelling, const std::vector<std::string>& names) {
  for (const std::string& word : split_names(spelling.words)) {
    if (std::find(names.begin(), names.end(), word) == names.end()) return false;
  }
  return true;
}

// "Qwen 3 235B", "qwen3_235b", "DeepSeekV3": a family's name and its version as the table has them.
std::vector<std::string> model_words(std::string_view text) {
  std::vector<std::string> names = split_names(text);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i];
    while (!name.empty() && name.back() == '.') name.pop_back();
    const bool version_apart = name == "qwen" && i + 1 < names.size() &&
                               (names[i + 1] == "3" || names[i + 1] == "2.5" ||
                                names[i + 1] == "3.5" || names[i + 1] == "3.8");
    if (version_apart) name += names[++i];
    for (const char* family : {"deepseek", "llama", "glm", "kimi", "minimax", "gptoss"}) {
      const std::string_view known = family;
      if (!name.starts_with(known) || name.size() == known.size()) continue;
      out.emplace_back(known == "gptoss" ? "gpt" : known);
      name = name.substr(known.size());
    }
    if (name == "gptoss") out.emplace_back("gpt"), name = "oss";
    out.push_back(name);
  }
  return out;
}

enum class Kind { unsaid, dense, mixture };

// "-A22B" is how mixtures say what a token uses.
Kind kind_of(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool active = name.size() >= 3 && name.front() == 'a' && name.back() == 'b' &&
                        std::all_of(name.begin() + 1, name.end() - 1,
                                    [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (active || name == "moe") return Kind::mixture;
    if (name == "dense") return Kind::dense;
  }
  return Kind::unsaid;
}

// A stand-in is no use if its bytes are not those of the row: 5 % is what rounded names hide.
constexpr double kMostDifference = 0.05;

std::optional<RowModel> stand_in(Kind kind, double params_b, const PublishedRow& row) {
  std::string nearest;
  double distance = kMostDifference, nearest_b = 0;
  for (const std::string& name : catalog_models()) {
    const ModelSpec model = catalog_model(name);
    if ((model.experts > 0) != (kind == Kind::mixture)) continue;
    const double b = static_cast<double>(model.parameters()) / 1e9;
    const double off = std::abs(b / params_b - 1);
    if (off > distance || (off == distance && !nearest.empty())) continue;
    nearest = name;
    distance = off;
    nearest_b = b;
  }
  if (nearest.empty()) return std::nullopt;
  return RowModel{nearest,
                  {fmt::format("{} ({:.4g} B parameters) stands in for {} ({:.4g} B).", nearest,
                               nearest_b, printable(row.model), params_b)}};
}

}  // namespace

std::variant<RowModel, RowSkip> row_model(const PublishedRow& row) {
  if (row.model.empty()) return RowSkip{"model", "is not given"};
  const std::vector<std::string> names = model_words(row.model);
  for (const Spelling& spelling : kSpellings) {
    if (!fits(spelling, names)) continue;
    if (spelling.model.empty()) break;
    RowModel model{std::string(spelling.model), {}};
    if (!spelling.remark.empty()) model.assumptions.emplace_back(spelling.remark);
    if (std::find(names.begin(), names.end(), "vl") != names.end()) {
      model.assumptions.emplace_back("The vision part is left out.");
    }
    if (has_any(lower(row.model), {"by size"})) {
      model.assumptions.emplace_back("The source gives the model's size, not its name.");
    }
    return model;
  }
  const Kind kind = kind_of(names);
  if (kind != Kind::unsaid && row.params_b && *row.params_b > 0) {
    if (auto model = stand_in(kind, *row.params_b, row)) return *model;
  }
  return RowSkip{"model",
                 fmt::format("'{}' is not in the catalog, and no model of its kind is within "
                             "5 % of its parameters",
                             printable(row.model))};
}

}  // namespace refit::detail
