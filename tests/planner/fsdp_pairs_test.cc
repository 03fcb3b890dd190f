// The FSDP family against itself and an engine, with shards that are short, empty or cut anywhere.
#include <catch2/catch.hpp>

#include <random>

#include "models/fsdp.h"
#include "models/megatron_fsdp.h"
#include "models/vllm.h"
#include "schedule/verify.h"
#include "tests/support/element_oracle.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

// One layer of attention and 4 experts, an embedding of 11 rows and a vector of 3.
ModelSpec tiny_moe() {
  ModelSpec model;
  model.name = "tiny";
  model.layers = 1;
  model.experts = 4;
  model.heads = {.q_heads = 4, .kv_heads = 2, .head_dim = 1};
  const TensorDim hidden{4, Axis::none, {}}, experts{4, Axis::expert, {}}, width{2, Axis::ffn, {}};
  const auto add = [&](std::string name, std::vector<TensorDim> dims, Role role, std::string part,
                       bool in_layer = true) {
    TensorSpec spec;
    spec.name = std::move(name);
    spec.dims = std::move(dims);
    spec.dtype = Dtype::u8;
    spec.role = role;
    spec.part = std::move(part);
    if (in_layer) spec.layer = 0;
    if (role == Role::routed_expert) spec.experts = 4;
    model.tensors.push_back(std::move(spec));
  };
  add("embedding", {{11, Axis::vocab, {}}, hidden}, Role::embedding, "", false);
  add("norm", {{3, Axis::none, {}}}, Role::norm, "");
  add("q", {{4, Axis::q_head, {}}, hidden}, Role::attention, "q");
  add("k", {{2, Axis::kv_head, {}}, hidden}, Role::attention, "k");
  add("v", {{2, Axis::kv_head, {}}, hidden}, Role::attention, "v");
  add("o", {hidden, {4, Axis::q_head, {}}}, Role::attention, "o");
  add("router", {{4, Axis::none, {}}, hidden}, Role::router, "router");
  add("gate", {experts, width, hidden}, Role::routed_expert, "gate");
  add("up", {experts, width, hidden}, Role::routed_expert, "up");
  add("down", {experts, hidden, width}, Role::routed_expert, "down");
  return model;
}

using SidePtr = std::unique_ptr<Parallelism>;

template <class Options>
Options on(int first, int gpus) {
  Options options;
  options.gpus = gpus;
  options.first = Rank(first);
  return options;
}

// Sides of 6 or 8 ranks from `first`.
std::vector<SidePtr> sides(const ModelSpec& model, int first) {
  std::vector<SidePtr> all;
  auto plain = on<FsdpOptions>(first, 6);
  all.push_back(fsdp(model, plain));
  plain.stacked_experts = true;
  all.push_back(fsdp(model, plain));
  auto strided = on<FsdpOptions>(first, 8);
  strided.replicate = 2;
  strided.tensor = 2;
  all.push_back(fsdp(model, strided));
  auto divided = on<FsdpOptions>(first, 8);
  divided.expert = 2;
  divided.context = 2;
  divided.expert_tensor = 1;
  divided.replicate = 2;
  all.push_back(fsdp(model, divided));
  auto transposed = on<AutomodelOptions>(first, 8);
  transposed.expert = 4;
  transposed.replicate = 2;
  all.push_back(automodel(model, transposed));
  auto flat = on<MegatronFsdpOptions>(first, 6);
  flat.expert = 2;
  flat.vocab_divisible_by = 4;
  all.push_back(megatron_fsdp(model, flat));
  flat.expert = 1;
  flat.gpus = 5;
  all.push_back(megatron_fsdp(model, flat));
  flat.gpus = 8;
  flat.tensor = 2;
  flat.expert_tensor = 1;
  flat.replicate = 2;
  all.push_back(megatron_fsdp(model, flat));
  auto checkpoint = on<MegatronFsdpOptions>(first, 7);
  checkpoint.parameters = MegatronFsdpOptions::Parameters::checkpoint;
  all.push_back(megatron_fsdp(model, checkpoint));
  auto engine = on<VllmOptions>(first, 4);
  engine.tensor = 2;
  all.push_back(vllm(model, engine));
  engine.expert_parallel = true;
  engine.data = 2;
  all.push_back(vllm(model, engine));
  return all;
}

Cluster pairs_of_ranks(int ranks, int domain) {
  std::vector<int> domains;
  for (int left = ranks; left > 0; left -= domain) domains.push_back(std::min(left, domain));
  return cluster_of_domains(domains);
}

int empty_shards(const Layout& layout) {
  int empty = 0;
  for (const std::int64_t elements : layout.elements_by_index()) empty += elements == 0 ? 1 : 0;
  return empty;
}

}  // namespace

TEST_CASE("every pair of FSDP layouts arrives whole under every strategy", "[planner][oracle]") {
  const ModelSpec model = tiny_moe();
  int empty_at_source = 0, empty_at_destination = 0, pair = 0;
  for (const SidePtr& source : sides(model, 0)) {
    // Behind the source, or on some of its ranks.
    for (const int first : {source->gpus(), source->gpus() / 2}) {
      for (const SidePtr& destination : sides(model, first)) {
        const int ranks = std::max(source->gpus(), first + destination->gpus());
        const Refit refit = make_refit(model, *source, *destination, ranks);
        REQUIRE(refit.unique_bytes() == model.bytes());
        for (const TensorClass& c : refit.classes) {
          empty_at_source += empty_shards(c.source);
          empty_at_destination += empty_shards(c.destination);
        }
        const Cluster cluster = pairs_of_ranks(ranks, 2 + pair % 3);
        PlanOptions options;
        options.chunks = 1 + pair % 3;
        options.bucket_bytes = 60;
        for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid"}) {
          CAPTURE(pair, first, strategy);
          const Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
          const Diagnostics findings = verify(schedule, refit);
          INFO((findings.empty() ? "" : findings.front().where + ": " + findings.front().message));
          REQUIRE(findings.empty());
          REQUIRE(run_elements(schedule, refit).empty());
        }
        ++pair;
      }
    }
  }
  REQUIRE(pair == 11 * 11 * 2);
  REQUIRE(empty_at_source > 1'000);
  REQUIRE(empty_at_destination > 1'000);
}

TEST_CASE("tensors that a layout gives in parts are whole, and counted once", "[planner][oracle]") {
  const ModelSpec model = tiny_moe();
  auto flat = on<MegatronFsdpOptions>(0, 5);
  const auto source = megatron_fsdp(model, flat);
  const auto destination = vllm(model, on<VllmOptions>(5, 1));
  const Refit refit = make_refit(model, *source, *destination, 6);
  std::int64_t checkpoint_tensors = 0, elements = 0;
  int parts = 0;
  for (const TensorClass& c : refit.classes) {
    checkpoint_tensors += c.checkpoint_tensors;
    elements += c.elements();
    parts += c.name.find("(part ") != std::string::npos ? 1 : 0;
  }
  REQUIRE(checkpoint_tensors == model.checkpoint_tensors());
  REQUIRE(elements == model.parameters());
  REQUIRE(parts >= 4);
}

}  // namespace refit::test
