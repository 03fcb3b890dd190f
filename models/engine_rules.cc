#include "models/engine_rules.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/yaml.h"

namespace refit {

std::span<const EmbeddedFile> embedded_engines();  // generated from models/engines/*.yaml

namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> words(const YamlNode& node) {
  std::vector<std::string> list;
  for (const YamlNode& item : node.items()) list.push_back(item.text());
  return list;
}

EngineRules read_rules(const YamlNode& node) {
  node.allow_only({"version", "source", "vocabulary", "stages", "experts", "embedding", "all2all",
                   "shared_whole"});
  EngineRules rules;
  rules.version = node.at("version").text();
  rules.vocab_multiple = node.at("vocabulary").integer(1, 1'000'000);
  rules.remainder =
      node.at("stages").one_of<StageRemainder>({{"before_last", StageRemainder::before_last},
                                                {"last", StageRemainder::last},
                                                {"first", StageRemainder::first},
                                                {"last_stage", StageRemainder::last_stage}});
  rules.placements = words(node.at("experts"));
  rules.embedding =
      node.at("embedding")
          .one_of<EmbeddingCut>({{"tensor", EmbeddingCut::tensor},
                                 {"attention", EmbeddingCut::attention},
                                 {"tensor_unless_split", EmbeddingCut::tensor_unless_split}});
  rules.all2all_backends = words(node.at("all2all"));
  rules.shared_whole = words(node.at("shared_whole"));
  return rules;
}

std::vector<EngineRules> read_engine(std::string_view engine) {
  std::vector<EngineRules> all;
  for (const EmbeddedFile& file : embedded_engines()) {
    if (file.name != engine) continue;
    const auto root =
        YamlNode::parse_text(std::string(file.text), fmt::format("engines/{}.yaml", engine));
    for (const YamlNode& item : root.items()) all.push_back(read_rules(item));
  }
  REFIT_CHECK(!all.empty());
  return all;
}

}  // namespace

std::string EngineRules::all2all(const std::string& backend) const {
  if (backend.empty()) return all2all_backends.front();
  if (contains(all2all_backends, backend)) return backend;
  refuse(fmt::format("all2all_backend: '{}' is not known in version {}; use one of {}", backend,
                     version, fmt::join(all2all_backends, ", ")));
}

bool EngineRules::shared_experts_whole_with(const std::string& backend) const {
  return contains(shared_whole, backend);
}

EngineRules engine_rules(std::string_view engine, const std::string& version) {
  const std::vector<EngineRules> all = read_engine(engine);
  if (version.empty()) return all.back();
  std::vector<std::string> known;
  for (const EngineRules& rules : all) {
    if (version == rules.version || version.starts_with(rules.version + ".")) return rules;
    known.push_back(rules.version);
  }
  refuse(fmt::format("version: {} {} is not known; use the last one that is not newer: {}", engine,
                     version, fmt::join(known, ", ")));
}

std::vector<int> stage_sizes(int layers, int stages, StageRemainder remainder) {
  if (stages < 1 || stages > layers) {
    refuse(fmt::format("pipeline: {} stages for {} layers; use 1 to {}", stages, layers, layers));
  }
  std::vector<int> sizes(static_cast<std::size_t>(stages), layers / stages);
  const int left = layers % stages;
  if (remainder == StageRemainder::last_stage) {
    sizes.back() += left;
    return sizes;
  }
  const int first = remainder == StageRemainder::first         ? 0
                    : remainder == StageRemainder::before_last ? stages - 1 - left
                                                               : stages - left;
  for (int s = first; s < first + left; ++s) ++sizes[static_cast<std::size_t>(s)];
  return sizes;
}

}  // namespace refit
