// The runtimes by name, over scenarios as people write them.
#include "checks/runtimes.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/checks/lines.h"

namespace refit::test {
namespace {

constexpr const char* kModel = R"(scenario: moe
cluster: {catalog: dgx_h100, nodes: 2}
model: qwen3-30b-a3b
training: {engine: megatron, gpus: 8, expert: 4, expert_tensor: 1}
generation: {engine: vllm, gpus: 8, tensor: 4}
)";

constexpr const char* kTensors = R"(scenario: written_out
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: w
    shape: [64, 64]
    dtype: bf16
    source: {ranks: 0..7, mesh: {shard: 8}, placements: [shard(0)]}
    destination: {ranks: 8..15, mesh: {shard: 8}, placements: [shard(1)]}
)";

Lines of(const std::string& runtime, const std::string& text) {
  return lines(findings_of_runtime(runtime, parse_scenario(text, "s.yaml")));
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("runtimes: their names are the command line's", "[checks][runtimes]") {
  CHECK(runtime_names() == Lines{"nccl_m2n", "nemo_rl_reshard", "nemo_rl_sparse",
                                 "nemo_rl_s3_sparse", "nemo_rl_nixl", "vllm_loader"});
}

TEST_CASE("runtimes: what NeMo RL looks at is read from the scenario", "[checks][runtimes]") {
  CHECK(of("nemo_rl_reshard", kModel) == Lines{});
  // 48 layers in 2 chunks of each of 2 stages; the engine in 2 stages of 24; experts cut in two.
  const std::string chunks =
      with(with(kModel, "expert: 4, expert_tensor: 1",
                "tensor: 2, pipeline: 2, virtual_pipeline: 2, expert: 2, expert_tensor: 2"),
           "tensor: 4}", "tensor: 4, pipeline: 2}");
  CHECK(
      of("nemo_rl_reshard", chunks) ==
      Lines{"nemo_rl.nccl_reshard.expert_tensor: policy.megatron_cfg.expert_tensor_parallel_size: "
            "experts are cut by 2; use 1",
            "nemo_rl.nccl_reshard.virtual_pipeline: "
            "policy.megatron_cfg.virtual_pipeline_model_parallel_size: 2 model chunks per rank; "
            "use 1",
            "nemo_rl.nccl_reshard.generation_pipeline: "
            "policy.generation.vllm_cfg.pipeline_parallel_size: is 2; use 1"});
  CHECK(of("nemo_rl_sparse", chunks) == Lines{});
}

TEST_CASE("runtimes: engines on the same GPUs are colocated", "[checks][runtimes]") {
  CHECK(of("nemo_rl_nixl", with(kModel, "vllm, gpus: 8", "vllm, first_gpu: 0, gpus: 8")) ==
        Lines{"nemo_rl.nixl.colocated: policy.generation.colocated.enabled: both sides are on the "
              "same GPUs; use false, with GPUs of its own for generation"});
}

TEST_CASE("runtimes: what no layout shows is said under `runtime`", "[checks][runtimes]") {
  CHECK(of("nemo_rl_s3_sparse", std::string(kModel) + "runtime: {s3_bucket: deltas}\n") == Lines{});
  const Lines all =
      of("nemo_rl_reshard", std::string(kModel) +
                                "runtime: {eplb: true, real_quant: true, refit_buffer: "
                                "0 GB, kv_cache: fp8, async_rollouts: true}\n");
  // The KV cache twice: weights in BF16, asynchronous rollouts.
  REQUIRE(all.size() == 5);
}

TEST_CASE("runtimes: stages are written out where first and last sizes could not say them",
          "[checks][runtimes]") {
  // 48 layers.
  const auto staged = [](const std::string& keys) {
    return of("nemo_rl_reshard", with(kModel, "expert: 4", "pipeline: 4, expert: 2, " + keys));
  };
  CHECK(staged("stage_layers: [10, 13, 13, 12]") == Lines{});
  const Lines uneven = staged("stage_layers: [12, 13, 11, 12]");
  REQUIRE(uneven.size() == 1);
  CHECK(uneven.front().starts_with("nemo_rl.nccl_reshard.pipeline_layout: "));
}

TEST_CASE("runtimes: Megatron cuts experts like everything else if nothing is said",
          "[checks][runtimes]") {
  CHECK(
      of("nemo_rl_reshard", with(kModel, "expert: 4, expert_tensor: 1", "tensor: 2, expert: 2")) ==
      Lines{"nemo_rl.nccl_reshard.expert_tensor: policy.megatron_cfg.expert_tensor_parallel_size: "
            "experts are cut by 2; use 1"});
}

TEST_CASE("runtimes: tensors written out have layouts and no engines", "[checks][runtimes]") {
  CHECK(of("nccl_m2n", kTensors) == Lines{});
  CHECK(of("vllm_loader", kTensors) == Lines{});
  const auto error = [] {
    try {
      of("nemo_rl_sparse", kTensors);
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::bad_input);
      return std::string(e.what());
    }
    return std::string("none");
  };
  CHECK(error() ==
        "s.yaml: nemo_rl_sparse asks what engines both sides run, and the tensors are written out; "
        "use a scenario with a model, or --runtime nccl_m2n");
}

TEST_CASE("vllm_loader: the largest checkpoint tensor fits in a bucket", "[checks][runtimes]") {
  // The largest of Qwen3-30B-A3B is its embedding: 151,936 x 2,048 x 2 B = 622,329,856 B. Experts
  // count one by one: 768 x 2,048 x 2 B = 3 MB each, not 128 of them.
  CHECK(of("vllm_loader", std::string(kModel) + "plan: {bucket: 622329856 B}\n") == Lines{});
  const Lines said = of("vllm_loader", std::string(kModel) + "plan: {bucket: 622329855 B}\n");
  REQUIRE(said.size() == 1);
  CHECK(said.front().find("the largest tensor is 622.33 MB (622329856 B), and a packed broadcast "
                          "holds 622.33 MB (622329855 B); use plan.bucket: 622329856 B or more") !=
        std::string::npos);
  CHECK(said.front().find("vllm_loader.bucket: ") == 0);
}

TEST_CASE("vllm_loader: another engine has another loader", "[checks][runtimes]") {
  CHECK(of("vllm_loader", with(kModel, "engine: vllm", "engine: sglang")) ==
        Lines{"vllm_loader.engine: generation.engine: the engine is sglang; use vllm"});
}

}  // namespace refit::test
