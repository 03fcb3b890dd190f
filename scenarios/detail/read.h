#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/yaml.h"
#include "models/model_spec.h"
#include "models/parallelism.h"
#include "models/refit.h"
#include "models/side_facts.h"
#include "planner/plan.h"
#include "scenarios/runtime_facts.h"
#include "schedule/fault.h"

namespace refit::detail {

// The GPUs of a side.
struct Place {
  int gpus = 0;
  Rank first;
};

// Where a side may stand: it starts at `next_gpu` if it does not say; the cluster bounds it.
struct Ground {
  int next_gpu = 0;
  int gpus_in_cluster = 0;
};

// A side as its engine lays it out, and what rules of runtimes ask about it.
struct EngineSide {
  std::unique_ptr<Parallelism> layouts;
  SideFacts facts;
};

// The `training` or `generation` part of a scenario.
EngineSide read_engine(const YamlNode& node, const ModelSpec& model, const Ground& ground);

// One reader per engine: the keys it knows, in the bounds that keep products small; whether degrees
// divide is the engine's to say. The facts that all engines have are read_engine's.
EngineSide read_megatron(const YamlNode& node, const ModelSpec& model, const Ground& ground);
EngineSide read_vllm(const YamlNode& node, const ModelSpec& model, const Ground& ground);

EngineSide read_sglang(const YamlNode& node, const ModelSpec& model, const Ground& ground);

EngineSide read_fsdp(const YamlNode& node, const ModelSpec& model, const Ground& ground);
EngineSide read_automodel(const YamlNode& node, const ModelSpec& model, const Ground& ground);
EngineSide read_megatron_fsdp(const YamlNode& node, const ModelSpec& model, const Ground& ground);

// What others take of the cluster's links, and whose software is slow.
Cluster read_background(const YamlNode& node, Cluster cluster);
Cluster read_stragglers(const YamlNode& node, Cluster cluster);

// "5", "0..3" (both ends included), or a list of such; each once.
std::vector<Rank> read_ranks(const YamlNode& node, int ranks);

// For them. `gpus` and `first_gpu`:
Place read_place(const YamlNode& node, const Ground& ground);

// Layout errors start with the key that is wrong ("tensor: 3 does not …") or with the keys whose
// product is ("tensor x context: …"); says where it stands in the file.
[[noreturn]] void fail_at_key(const YamlNode& node, const std::string& message);
template <class Make>
std::unique_ptr<Parallelism> pinned_on_keys(const YamlNode& node, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    fail_at_key(node, error.what());
  }
}

constexpr int kMostDegree = 1'000'000;
int read_degree(const YamlNode& node, const char* key, const Place& place);  // 1 if not written

struct Degree {
  const char* key;
  std::int64_t size;  // at most kMostDegree: three of them can be multiplied
};
// The engines check what divides; too large a product is said here, before it could overflow.
void check_product(const YamlNode& node, std::initializer_list<Degree> degrees, const Place& place,
                   const std::string& hint = "");

// What only a mixture of experts has must not be asked of a dense model, where it would mean
// nothing.
void check_experts(const YamlNode& node, const char* key, bool is_asked, const ModelSpec& model);

// The decoder layers of each of `stages`.
std::vector<int> read_stage_layers(const YamlNode& node, const ModelSpec& model, int stages);

// Megatron's vocabulary: megatron, bridge, none, or the divisor itself.
std::optional<std::int64_t> read_vocab_padding(const YamlNode& node, const ModelSpec& model);

// `engine` and `precision` of a side.
StoredForm read_stored_form(const YamlNode& side, const ModelSpec& model);
std::optional<EdgeSide> read_convert(const YamlNode& scenario);

// The `runtime` part.
RuntimeFacts read_runtime(const YamlNode& node);

// make_refit, with errors pinned on the key of the side that is wrong.
Refit refit_of(const ModelSpec& model, const Parallelism& training, const YamlNode& training_node,
               const Parallelism& generation, const YamlNode& generation_node, const Edge& edge,
               int ranks);

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

// The `delta` part: how much changes, and how changes are coded. `model`: of the refit, for the
// names of its tensors; none if they are written out.
DeltaOptions read_delta(const YamlNode& node, const Refit& refit,
                        const std::optional<ModelSpec>& model);

// The `fault` part: what is lost, when, and what the others do.
FaultSpec read_fault(const YamlNode& node, const Cluster& cluster);

// Refuses buckets so small that a plan could not number them. `root` is the scenario.
void check_buckets(const YamlNode& root, const PlanOptions& plan, const Refit& refit);

}  // namespace refit::detail
