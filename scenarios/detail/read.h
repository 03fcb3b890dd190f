#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/yaml.h"
#include "models/model_spec.h"
#include "models/parallelism.h"
#include "models/refit.h"
#include "planner/plan.h"

namespace refit::detail {

// The `training` or `generation` part of a scenario. `next_gpu` is where the side starts if it does
// not say; `gpus_in_cluster` bounds it.
std::unique_ptr<Parallelism> read_engine(const YamlNode& node, const ModelSpec& model, int next_gpu,
                                         int gpus_in_cluster);

// The GPUs of a side, and the degrees of each engine, in the bounds that keep products small;
// whether they divide is the engine's to say.
struct Place {
  int gpus = 0;
  Rank first;
};
MegatronOptions read_megatron(const YamlNode& node, const ModelSpec& model, const Place& place);
VllmOptions read_vllm(const YamlNode& node, const ModelSpec& model, const Place& place);

// make_refit, with errors pinned on the key of the side that is wrong.
Refit refit_of(const ModelSpec& model, const Parallelism& training, const YamlNode& training_node,
               const Parallelism& generation, const YamlNode& generation_node, int ranks);

// The `tensors` part: layouts written out, no model needed.
Refit read_tensors(const YamlNode& node, int ranks);

// One side of a tensor. `shape` begins with the member dim that a tensor class has and a file has
// not.
Layout read_layout(const YamlNode& node, std::vector<std::int64_t> shape, int ranks);

// The `plan` part: options, and the scenario's own policy if it has one.
struct PlanPart {
  PlanOptions options;
  std::optional<Policy> policy;
};
PlanPart read_plan(const YamlNode& node);

// Refuses buckets so small that a plan could not number them. `root` is the scenario.
void check_buckets(const YamlNode& root, const PlanOptions& plan, const Refit& refit);

}  // namespace refit::detail
