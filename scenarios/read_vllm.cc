#include "models/vllm.h"
#include "scenarios/detail/read.h"
#include "scenarios/detail/read_generation.h"

namespace refit::detail {

EngineSide read_vllm(const YamlNode& node, const ModelSpec& model, const Ground& ground) {
  node.allow_only({"engine", "precision", "version", "gpus", "first_gpu", "tensor", "pipeline",
                   "pipeline_partition", "data", "prefill_context", "engines", "expert_parallel",
                   "expert_placement", "redundant_experts", "expert_slots", "all2all_backend",
                   "shared_experts", "mxfp4_experts"});
  const Place place = read_place(node, ground);
  VllmOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.tensor = read_degree(node, "tensor", place);
  options.pipeline = read_degree(node, "pipeline", place);
  options.data = read_degree(node, "data", place);
  options.prefill_context = read_degree(node, "prefill_context", place);
  if (const auto flag = node.find("expert_parallel")) options.expert_parallel = flag->boolean();
  check_experts(node, "expert_parallel", options.expert_parallel, model);
  check_product(
      node, {{"tensor", options.tensor}, {"pipeline", options.pipeline}, {"data", options.data}},
      place);
  const int with_data = options.tensor * options.pipeline * options.data;
  check_product(
      node, {{"prefill_context", options.prefill_context}, {"tensor x pipeline x data", with_data}},
      place);
  check_engines(node, std::int64_t{with_data} * options.prefill_context, options.gpus);
  options.stage_layers = read_partition(node, model, options.pipeline);
  options.experts = read_expert_placement(node, model);
  options.shared_experts = read_shared_experts(node, model);
  read_engine_words(node, options);
  SideFacts facts;
  facts.tensor = options.tensor;
  facts.data = options.data;
  if (options.expert_parallel)
    facts.expert = options.tensor * options.data * options.prefill_context;
  facts.redundant_experts = has_redundant_experts(options.experts);
  return {pinned_on_keys(node, [&] { return vllm(model, options); }), facts};
}

}  // namespace refit::detail
