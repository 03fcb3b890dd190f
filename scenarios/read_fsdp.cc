#include "models/fsdp.h"

#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

void read_degrees(const YamlNode& node, const ModelSpec& model, const Place& place,
                  FsdpDegrees& degrees) {
  degrees.gpus = place.gpus;
  degrees.first = place.first;
  degrees.replicate = read_degree(node, "replicate", place);
  degrees.tensor = read_degree(node, "tensor", place);
  degrees.context = read_degree(node, "context", place);
  degrees.pipeline = read_degree(node, "pipeline", place);
  if (const auto sizes = node.find("stage_layers"))
    degrees.stage_layers = read_stage_layers(*sizes, model, degrees.pipeline);
}

int read_expert(const YamlNode& node, const ModelSpec& model, const Place& place) {
  const int expert = read_degree(node, "expert", place);
  check_experts(node, "expert", expert > 1, model);
  return expert;
}

SideFacts facts_of(const FsdpDegrees& degrees, int expert) {
  SideFacts facts;
  facts.tensor = degrees.tensor;
  facts.context = degrees.context;
  facts.expert = expert;
  return facts;
}

}  // namespace

EngineSide read_fsdp(const YamlNode& node, const ModelSpec& model, const Ground& ground) {
  node.allow_only({"engine", "precision", "gpus", "first_gpu", "replicate", "tensor", "context",
                   "pipeline", "stage_layers", "expert", "expert_tensor", "stacked_experts"});
  const Place place = read_place(node, ground);
  FsdpOptions options;
  read_degrees(node, model, place, options);
  options.expert = read_expert(node, model, place);
  if (node.find("expert_tensor")) {
    options.expert_tensor = read_degree(node, "expert_tensor", place);
    check_experts(node, "expert_tensor", true, model);
  }
  if (const auto flag = node.find("stacked_experts")) {
    options.stacked_experts = flag->boolean();
    check_experts(node, "stacked_experts", true, model);
  }
  return {pinned_on_keys(node, [&] { return fsdp(model, options); }),
          facts_of(options, options.expert)};
}

EngineSide read_automodel(const YamlNode& node, const ModelSpec& model, const Ground& ground) {
  node.allow_only({"engine", "precision", "gpus", "first_gpu", "replicate", "tensor", "context",
                   "pipeline", "stage_layers", "expert"});
  const Place place = read_place(node, ground);
  AutomodelOptions options;
  read_degrees(node, model, place, options);
  options.expert = read_expert(node, model, place);
  return {pinned_on_keys(node, [&] { return automodel(model, options); }),
          facts_of(options, options.expert)};
}

}  // namespace refit::detail
