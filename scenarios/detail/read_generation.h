#pragma once

#include <optional>
#include <vector>

#include "base/yaml.h"
#include "models/expert_placement.h"
#include "models/model_spec.h"
#include "scenarios/detail/read.h"

namespace refit::detail {

// Keys that vLLM and SGLang have alike.
//
// `pipeline_partition`: layers of every stage.
std::vector<int> read_partition(const YamlNode& node, const ModelSpec& model, int stages);

// `expert_placement`, `redundant_experts`, `expert_slots`.
ExpertPlacement read_expert_placement(const YamlNode& node, const ModelSpec& model);

// Whether copies of experts, or a live map of them, are asked for.
inline bool has_redundant_experts(const ExpertPlacement& experts) {
  return experts.redundant > 0 || !experts.maps.empty();
}

std::optional<SharedExperts> read_shared_experts(const YamlNode& node, const ModelSpec& model);

// `version`, `all2all_backend`, `mxfp4_experts` of either options struct.
template <class Options>
void read_engine_words(const YamlNode& node, Options& options) {
  if (const auto v = node.find("version")) options.version = v->text();
  if (const auto v = node.find("all2all_backend")) options.all2all_backend = v->text();
  if (const auto v = node.find("mxfp4_experts")) options.mxfp4_experts = v->boolean();
}

// `engines`: a check that the side has so many copies of `ranks_of_engine` ranks.
void check_engines(const YamlNode& node, std::int64_t ranks_of_engine, int gpus);

}  // namespace refit::detail
