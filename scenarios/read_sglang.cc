#include <fmt/format.h>

#include "models/sglang.h"
#include "scenarios/detail/read.h"
#include "scenarios/detail/read_generation.h"

namespace refit::detail {
namespace {

// 1: copies; as `tensor`: cut by all, which is also the default.
bool read_whole_dense(const YamlNode& node, int tensor) {
  const auto found = node.find("dense_tensor");
  if (!found) return false;
  const std::int64_t ranks = found->integer(1, kMostDegree);
  if (ranks != 1 && ranks != tensor) {
    found->fail(fmt::format(
        "dense layers are cut by all {} tensor ranks or not at all; use {} or 1", tensor, tensor));
  }
  return ranks == 1 && tensor > 1;
}

}  // namespace

EngineSide read_sglang(const YamlNode& node, const ModelSpec& model, const Ground& ground) {
  node.allow_only({"engine",       "precision",       "version",           "gpus",
                   "first_gpu",    "tensor",          "pipeline",          "pipeline_partition",
                   "engines",      "attention_data",  "attention_context", "dp_lm_head",
                   "dense_tensor", "expert",          "expert_data",       "redundant_experts",
                   "expert_slots", "all2all_backend", "shared_experts",    "mxfp4_experts"});
  const Place place = read_place(node, ground);
  SglangOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.tensor = read_degree(node, "tensor", place);
  options.pipeline = read_degree(node, "pipeline", place);
  options.attention_data = read_degree(node, "attention_data", place);
  options.attention_context = read_degree(node, "attention_context", place);
  if (node.find("expert")) options.expert = read_degree(node, "expert", place);
  options.expert_data = read_degree(node, "expert_data", place);
  check_experts(node, "expert", options.expert.value_or(1) > 1, model);
  check_experts(node, "expert_data", options.expert_data > 1, model);
  check_product(node, {{"tensor", options.tensor}, {"pipeline", options.pipeline}}, place);
  check_engines(node, std::int64_t{options.tensor} * options.pipeline, options.gpus);
  if (const auto flag = node.find("dp_lm_head")) options.attention_head = flag->boolean();
  options.whole_dense = read_whole_dense(node, options.tensor);
  options.stage_layers = read_partition(node, model, options.pipeline);
  options.experts = read_expert_placement(node, model);
  options.shared_experts = read_shared_experts(node, model);
  read_engine_words(node, options);
  SideFacts facts;
  facts.tensor = options.tensor;
  facts.expert = options.expert.value_or(1);
  facts.redundant_experts = has_redundant_experts(options.experts);
  return {pinned_on_keys(node, [&] { return sglang(model, options); }), facts};
}

}  // namespace refit::detail
