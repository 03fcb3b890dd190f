// The published refits: bytes that follow from the models' shapes and the layouts, exact to the
// byte.
#include <catch2/catch.hpp>

#include "models/import/hf_config.h"
#include "models/megatron.h"
#include "models/parallelism.h"
#include "models/vllm.h"
#include "schedule/verify.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

struct Job {
  const char* model;
  MegatronOptions training;
  VllmOptions generation;
};

Job job(const char* model, int gpus, int tensor, int pipeline, int expert, int generation_tensor) {
  Job result{model, {}, {}};
  result.training.gpus = gpus;
  result.training.tensor = tensor;
  result.training.pipeline = pipeline;
  result.training.expert = expert;
  result.training.expert_tensor = 1;
  result.generation.gpus = gpus;
  result.generation.first = Rank(gpus);
  result.generation.tensor = generation_tensor;
  return result;
}

Job qwen3_235b() {
  Job result = job("qwen3-235b-a22b", 128, 4, 8, 16, 8);
  result.training.first_stage_layers = result.training.last_stage_layers = 11;
  return result;
}

Job deepseek_v3() {
  Job result = job("deepseek-v3", 256, 1, 16, 16, 32);
  result.training.first_stage_layers = 3;
  result.training.last_stage_layers = 2;
  result.training.vocab_divisible_by = 1280;
  return result;
}

Job nemotron_ultra() { return job("nemotron-3-ultra-550b-a55b", 64, 8, 2, 32, 8); }

Refit refit_of_job(const Job& job) {
  const ModelSpec model = catalog_model(job.model);
  return make_refit(model, *megatron(model, job.training), *vllm(model, job.generation),
                    job.training.gpus + job.generation.gpus);
}

bool is_bulk(const TensorClass& c) {
  return c.role == Role::routed_expert || c.role == Role::dense_ffn;
}

std::int64_t bulk_bytes(const Refit& refit) {
  std::int64_t sum = 0;
  for (const TensorClass& c : refit.classes) sum += is_bulk(c) ? c.bytes() : 0;
  return sum;
}

// Bytes that the hybrid policy reshards, from the plan.
std::int64_t resharded_bytes(const Refit& refit, const Cluster& cluster) {
  for (const Phase& phase : plan(refit, cluster, named_policy("hybrid"), {}).phases) {
    if (phase.name == "reshard") return phase.logical_bytes;
  }
  return 0;
}

}  // namespace

TEST_CASE("Qwen3-235B on H100: 16 copies over the network, 7.52 TB", "[planner][published]") {
  const Refit refit = refit_of_job(qwen3_235b());
  REQUIRE(refit.unique_bytes() == 470'187'269'120);
  const Cluster cluster = cluster_of_domains(std::vector<int>(32, 8));
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {});
  REQUIRE(verify(schedule, refit).empty());

  // TP8 fills a node, so every node takes each weight once.
  std::int64_t network = 0;
  for (const std::int64_t bytes : network_in(schedule, cluster, 128, 128)) network += bytes;
  REQUIRE(network == 16 * 470'187'269'120);

  // 4 KV heads at TP8: every engine keeps each K and V row twice. 94 layers x (K, V) x 4 heads x
  // 128 x 4096 x 2 B = 788,529,152 B more than one copy, beside what all tensor ranks replicate
  // anyway.
  std::int64_t kv = 0;
  for (const TensorClass& c : refit.classes) {
    if (c.part == "k" || c.part == "v") kv += c.destination.held_elements() * 2 - 16 * c.bytes();
  }
  REQUIRE(kv == 16 * 788'529'152LL);
}

TEST_CASE("DeepSeek-V3 on H100: 8 copies, and the largest stage holds 92.06 GB of a mean 83.88",
          "[planner][published]") {
  const Refit refit = refit_of_job(deepseek_v3());
  REQUIRE(refit.unique_bytes() == 1'342'052'838'400);
  const Cluster cluster = cluster_of_domains(std::vector<int>(64, 8));
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {});
  REQUIRE(verify(schedule, refit).empty());

  // An engine of TP32 spans four nodes: what tensor parallel cuts crosses 8 times, what it
  // replicates (latent down projections, router, norms) 32 times, once per node.
  std::int64_t cut = 0, replicated = 0;
  for (const TensorClass& c : refit.classes) {
    const bool whole = c.destination.held_elements() == 256 * c.elements();
    (whole ? replicated : cut) += c.bytes();
  }
  REQUIRE(cut + replicated == 1'342'052'838'400);
  std::int64_t network = 0;
  for (const std::int64_t bytes : network_in(schedule, cluster, 256, 256)) network += bytes;
  REQUIRE(network == 8 * cut + 32 * replicated);
  REQUIRE(8 * 1'342'052'838'400 == 10'736'422'707'200);  // 10.74 TB
  REQUIRE(replicated < 2'100'000'000);

  std::vector<std::int64_t> stage(16, 0);
  for (const TensorClass& c : refit.classes) stage[static_cast<std::size_t>(c.stage)] += c.bytes();
  REQUIRE(*std::max_element(stage.begin(), stage.end()) == 92'058'290'176);
  REQUIRE(1'342'052'838'400 / 16 == 83'878'302'400);
}

TEST_CASE("bulk bytes of the published layouts", "[planner][published]") {
  SECTION("Qwen3-235B: 454,192,791,552 B") {
    const Refit refit = refit_of_job(qwen3_235b());
    REQUIRE(bulk_bytes(refit) == 454'192'791'552);
    REQUIRE(resharded_bytes(refit, cluster_of_domains(std::vector<int>(32, 8))) == 454'192'791'552);
    // Per generation GPU 1/8, per expert parallel rank and layer 301,989,888 B.
    std::int64_t held = 0;
    for (const TensorClass& c : refit.classes)
      held += is_bulk(c) ? c.destination.shard_elements(0) * 2 : 0;
    REQUIRE(held == 56'774'098'944);
    std::int64_t layer = 0;
    for (const TensorClass& c : refit.classes) {
      if (c.stage == 1 && is_bulk(c)) layer += c.source.shard_elements(0) * 2;
    }
    REQUIRE(layer == 3'623'878'656);  // 12 layers of 301,989,888
    REQUIRE(layer / 12 == 301'989'888);
  }
  SECTION("DeepSeek-V3: 1,310,195,712,000 B, of which 2,378,170,368 dense") {
    const Refit refit = refit_of_job(deepseek_v3());
    REQUIRE(bulk_bytes(refit) == 1'310'195'712'000);
    std::int64_t dense = 0, held = 0, layers = 0;
    for (const TensorClass& c : refit.classes) {
      dense += c.role == Role::dense_ffn ? c.bytes() : 0;
      held += is_bulk(c) ? c.destination.shard_elements(0) * 2 : 0;
      if (c.stage == 1 && c.role == Role::routed_expert) layers += c.source.shard_elements(0) * 2;
    }
    REQUIRE(dense == 2'378'170'368);
    REQUIRE(held == 40'943'616'000);
    REQUIRE(layers == 5'637'144'576);  // 4 layers of 1,409,286,144
  }
  SECTION("Nemotron Ultra: 1,030,792,151,040 B") {
    const Refit refit = refit_of_job(nemotron_ultra());
    REQUIRE(bulk_bytes(refit) == 1'030'792'151'040);
    std::int64_t held = 0;
    for (const TensorClass& c : refit.classes)
      held += is_bulk(c) ? c.destination.shard_elements(0) * 2 : 0;
    REQUIRE(held == 128'849'018'880);
  }
  SECTION("Qwen3.8 and Kimi K3") {
    const auto routed = [](const char* name) {
      return catalog_model(name).bytes(Role::routed_expert);
    };
    REQUIRE(routed("qwen3.8-2.4t-a95b") == 4'741'643'894'784);
    REQUIRE(routed("kimi-k3") == 5'445'481'660'416);
    REQUIRE(catalog_model("kimi-k3").bytes(Role::dense_ffn) == 1'453'326'336);
  }
}

}  // namespace refit::test
