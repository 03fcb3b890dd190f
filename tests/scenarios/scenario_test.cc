#include "scenarios/scenario.h"

#include <catch2/catch.hpp>

namespace refit::test {
namespace {

const char* const kModelForm = R"(scenario: everything
description: All keys of the model form.
assumptions:
  - first
  - second
cluster: {catalog: dgx_h100, nodes: 4}
model: {name: qwen3-30b-a3b, dtype: f32, mtp: false}
training:
  engine: megatron
  gpus: 16
  first_gpu: 0
  tensor: 2
  context: 2
  pipeline: 2
  expert: 4
  expert_tensor: 1
  first_stage_layers: 20
  last_stage_layers: 28
  vocab_padding: 256
generation:
  engine: vllm
  gpus: 8
  first_gpu: 24
  tensor: 2
  pipeline: 2
  data: 2
  engines: 1
  expert_parallel: true
plan:
  chunks: 3
  streams: 4
  balance: uniform
  injected_domains: 2
  bucket: 1 GiB
  buffers: 5
  policy: {routed_expert: direct, norm: gather_broadcast, rest: reshard}
network_model: wire_only
)";

const TensorClass& class_with(const Scenario& scenario, const std::string& part, int stage) {
  for (const TensorClass& c : scenario.refit.classes) {
    if (c.name.find(part) != std::string::npos && c.stage == stage) return c;
  }
  FAIL("no class named " << part << " in stage " << stage);
  return scenario.refit.classes.front();
}

}  // namespace

TEST_CASE("every key of the model form is read", "[scenarios]") {
  const Scenario s = parse_scenario(kModelForm, "s.yaml");
  CHECK(s.name == "everything");
  CHECK(s.path == "s.yaml");
  CHECK(s.text == kModelForm);
  CHECK(s.description == "All keys of the model form.");
  CHECK(s.assumptions == std::vector<std::string>{"first", "second"});
  CHECK(s.cluster.gpus() == 32);
  CHECK(s.refit.ranks == 32);
  REQUIRE(s.model);
  CHECK(s.model->name == "qwen3-30b-a3b");
  CHECK(s.plan.chunks == 3);
  CHECK(s.plan.streams == 4);
  CHECK(s.plan.balance == ReplicaBalance::uniform);
  CHECK(s.plan.injected_domains == 2);
  CHECK(s.plan.bucket_bytes == std::int64_t{1} << 30);
  CHECK(s.plan.buffers == 5);
  REQUIRE(s.policy);
  CHECK(s.policy->rest == Strategy::reshard);
  CHECK(s.policy->roles == std::map<Role, Strategy>{{Role::routed_expert, Strategy::direct},
                                                    {Role::norm, Strategy::gather_broadcast}});
  CHECK(s.network_model.name == "wire_only");

  CHECK(s.refit.stages == 2);
  CHECK(s.refit.sources.front() == Rank(0));
  CHECK(s.refit.sources.size() == 16);
  CHECK(s.refit.destinations.front() == Rank(24));
  CHECK(s.refit.destinations.size() == 8);

  // A stage is 8 trainers: experts see edp 2 x ep 4, and 128 / 4 of them are on each.
  const TensorClass& gate = class_with(s, "experts.{expert}.gate_proj", 0);
  CHECK(gate.dtype == Dtype::f32);
  CHECK(gate.members.size() == 20);  // first_stage_layers
  CHECK(gate.source.shard(0)[1] == IntervalSet(Interval{0, 32}));
  // The engine's stages have 24 layers; data 2 x tensor 2 ranks keep 32 whole experts each.
  CHECK(gate.destination.mesh().size() == 4);
  CHECK(gate.destination.shard(1)[1] == IntervalSet(Interval{32, 64}));
  CHECK(class_with(s, "experts.{expert}.gate_proj", 1).members.size() <= 28);
  // 151,936 rows padded to a multiple of 256 x tensor 2 are 152,064, so that the first half has
  // 76,032.
  const TensorClass& embedding = class_with(s, "embed_tokens", 0);
  CHECK(embedding.source.shard(0)[1] == IntervalSet(Interval{0, 76'032}));
  CHECK(embedding.source.mesh().size() == 8);  // dp 2 x cp 2 x tp 2
}

TEST_CASE("what a scenario leaves out has its default", "[scenarios]") {
  const Scenario s = parse_scenario(R"(
scenario: short
cluster: {catalog: dgx_h100, nodes: 1}
model: qwen3-8b
training: {engine: megatron, gpus: 2}
generation: {engine: vllm, gpus: 4}
)",
                                    "s.yaml");
  CHECK(s.description.empty());
  CHECK(s.assumptions.empty());
  CHECK_FALSE(s.policy);
  CHECK(s.plan.chunks == 8);
  CHECK(s.plan.streams == 2);
  CHECK(s.plan.balance == ReplicaBalance::node_aware);
  CHECK(s.plan.injected_domains == 0);
  CHECK(s.plan.bucket_bytes == 1'717'986'918);  // 2 % of 80 GiB
  CHECK(s.plan.buffers == 2);
  CHECK(s.network_model.name == catalog_network_models().front());
  CHECK(s.refit.stages == 1);
  CHECK(s.refit.classes.front().dtype == Dtype::bf16);
  // All degrees are 1: every rank of both sides holds the whole model. Generation follows training.
  CHECK(s.refit.destinations.front() == Rank(2));
  CHECK(s.refit.payload_bytes() == 4 * s.refit.unique_bytes());
}

TEST_CASE("expert_tensor is tensor unless it is written", "[scenarios]") {
  const char* const text = R"(
scenario: etp
cluster: {catalog: dgx_h100, nodes: 2}
model: mixtral-8x7b
training: {engine: megatron, gpus: 8, tensor: 2, expert: 4}
generation: {engine: vllm, gpus: 8, tensor: 8}
)";
  // 14,336 columns of the intermediate size over etp 2.
  const Scenario s = parse_scenario(text, "s.yaml");
  const auto held = class_with(s, "w1", 0).source.shard(0);
  CHECK(held[1].size() == 2);
  CHECK(held[2].size() == 7'168);
}

TEST_CASE("stage_layers writes out every stage", "[scenarios]") {
  const Scenario s = parse_scenario(R"(
scenario: stages
cluster: {catalog: dgx_h100, nodes: 1}
model: qwen3-8b
training: {engine: megatron, gpus: 3, pipeline: 3, stage_layers: [10, 14, 12]}
generation: {engine: vllm, gpus: 1, first_gpu: 3}
)",
                                    "s.yaml");
  for (const auto& [stage, layers] : {std::pair(0, 10), std::pair(1, 14), std::pair(2, 12)}) {
    CHECK(class_with(s, "gate_proj", stage).members.size() == static_cast<std::size_t>(layers));
  }
}

TEST_CASE("generation starts where training ends, and may share its GPUs", "[scenarios]") {
  const auto first = [](const std::string& training, const std::string& generation) {
    const Scenario s = parse_scenario(
        "scenario: s\ncluster: {catalog: dgx_h100, nodes: 2}\nmodel: qwen3-8b\n"
        "training: {engine: megatron, gpus: 4" +
            training +
            "}\n"
            "generation: {engine: vllm, gpus: 4" +
            generation + "}\n",
        "s.yaml");
    return s.refit.destinations.front().value;
  };
  CHECK(first("", "") == 4);
  CHECK(first(", first_gpu: 6", "") == 10);
  CHECK(first("", ", first_gpu: 12") == 12);
  CHECK(first("", ", first_gpu: 0") == 0);
}

TEST_CASE("every key of a tensor is read", "[scenarios]") {
  const Scenario s = parse_scenario(R"yaml(
scenario: tensors
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: first
    shape: [10, 6]
    dtype: float32
    role: dense_ffn
    count: 3
    source:
      ranks: [4, 0..2]
      mesh: {a: 2, b: 2}
      placements: ["shard(0, balanced)", "shard(1, even)"]
    destination: {ranks: 5, placements: [replicate]}
  - name: second
    shape: [7]
    source: {ranks: 8..10, placements: [shard(0)]}
    destination: {ranks: 9..10, placements: ["shard( 0 , chunk )"]}
)yaml",
                                    "s.yaml");
  CHECK_FALSE(s.model);
  REQUIRE(s.refit.classes.size() == 2);
  CHECK(s.refit.stages == 2);  // sources of `first` and of `second` are other ranks
  CHECK(s.refit.sources ==
        std::vector{Rank(0), Rank(1), Rank(2), Rank(4), Rank(8), Rank(9), Rank(10)});
  CHECK(s.refit.destinations == std::vector{Rank(5), Rank(9), Rank(10)});

  const TensorClass& first = s.refit.classes[0];
  CHECK(first.name == "first");
  CHECK(first.dtype == Dtype::f32);
  CHECK(first.role == Role::dense_ffn);
  CHECK(first.shape() == std::vector<std::int64_t>{3, 10, 6});
  CHECK(first.members == std::vector<std::int64_t>{0, 1, 2});
  CHECK(first.checkpoint_tensors == 3);
  CHECK(first.source.mesh().ranks() == std::vector{Rank(4), Rank(0), Rank(1), Rank(2)});
  // Rank 2 is coordinate (1, 1): the lower five rows, the right three columns, of all members.
  CHECK(first.source.shard(3) ==
        std::vector<IntervalSet>{Interval{0, 3}, Interval{5, 10}, Interval{3, 6}});

  const TensorClass& second = s.refit.classes[1];
  CHECK(second.dtype == Dtype::bf16);
  CHECK(second.role == Role::unspecified);
  CHECK(second.members == std::vector<std::int64_t>{3});
  // torch.chunk of 7 by 3: ceil(7 / 3) = 3, 3 and 1.
  CHECK(second.source.shard_elements(0) == 3);
  CHECK(second.source.shard_elements(2) == 1);
}

TEST_CASE("every role can be named in a policy, so that none is forgotten", "[scenarios]") {
  for (int r = 0; r <= static_cast<int>(Role::unspecified); ++r) {
    const std::string role(to_string(static_cast<Role>(r)));
    CAPTURE(role);
    const Scenario s = parse_scenario(
        "scenario: s\ncluster: {catalog: dgx_h100, nodes: 1}\n"
        "tensors: [{name: w, shape: [4], source: {ranks: 0, placements: [replicate]}, "
        "destination: {ranks: 1, placements: [replicate]}}]\n"
        "plan: {policy: {" +
            role + ": direct}}\n",
        "s.yaml");
    REQUIRE(s.policy->roles.at(static_cast<Role>(r)) == Strategy::direct);
    REQUIRE(s.policy->rest == Strategy::reshard);
  }
}

}  // namespace refit::test
