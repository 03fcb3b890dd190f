#include "models/megatron_fsdp.h"

#include "scenarios/detail/read.h"

namespace refit::detail {

EngineSide read_megatron_fsdp(const YamlNode& node, const ModelSpec& model, const Ground& ground) {
  node.allow_only({"engine", "precision", "gpus", "first_gpu", "replicate", "tensor", "context",
                   "pipeline", "stage_layers", "expert", "expert_tensor", "vocab_padding",
                   "parameters", "bucket_elements"});
  using Parameters = MegatronFsdpOptions::Parameters;
  const Place place = read_place(node, ground);
  MegatronFsdpOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.replicate = read_degree(node, "replicate", place);
  options.tensor = read_degree(node, "tensor", place);
  options.context = read_degree(node, "context", place);
  options.pipeline = read_degree(node, "pipeline", place);
  options.expert = read_degree(node, "expert", place);
  check_experts(node, "expert", options.expert > 1, model);
  if (node.find("expert_tensor")) {
    options.expert_tensor = read_degree(node, "expert_tensor", place);
    check_experts(node, "expert_tensor", true, model);
  }
  if (const auto sizes = node.find("stage_layers"))
    options.stage_layers = read_stage_layers(*sizes, model, options.pipeline);
  if (const auto padding = node.find("vocab_padding"))
    options.vocab_divisible_by = read_vocab_padding(*padding, model);
  if (const auto kind = node.find("parameters")) {
    options.parameters = kind->one_of<Parameters>(
        {{"megatron", Parameters::megatron}, {"checkpoint", Parameters::checkpoint}});
  }
  if (const auto elements = node.find("bucket_elements"))
    options.bucket_elements = elements->integer(1, std::int64_t{1} << 40);
  SideFacts facts;
  facts.tensor = options.tensor;
  facts.context = options.context;
  facts.expert = options.expert;
  return {pinned_on_keys(node, [&] { return megatron_fsdp(model, options); }), facts};
}

}  // namespace refit::detail
