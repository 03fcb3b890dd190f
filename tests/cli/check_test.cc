// What `refit check` says of layouts: findings of both sides, and of runtimes.
#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

constexpr const char* kGood = R"(scenario: moe
cluster: {catalog: dgx_h100, nodes: 2}
model: qwen3-30b-a3b
training: {engine: megatron, gpus: 8, expert: 4, expert_tensor: 1}
generation: {engine: vllm, gpus: 8, tensor: 4}
plan: {bucket: 600 MB}
)";

Outcome check(const std::string& text, const std::vector<std::string>& options = {}) {
  const Folder folder;
  std::vector<std::string> arguments{"check", folder.write("s.yaml", text), "--strategy", "direct"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  Outcome outcome = refit_program(arguments);
  // The folder's name is another every time.
  for (std::string* out : {&outcome.out, &outcome.err}) {
    const std::string path = folder / "s.yaml";
    for (std::size_t at = out->find(path); at != std::string::npos; at = out->find(path))
      out->replace(at, path.size(), "s.yaml");
  }
  return outcome;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("check says what is illegal on both sides at once", "[cli][check]") {
  // Qwen3-30B-A3B has 32 query heads: degrees of 3 and 6 cut one.
  const Outcome both =
      check(with(with(kGood, "gpus: 8, expert: 4", "gpus: 6, tensor: 3, expert: 3"),
                 "gpus: 8, tensor: 4", "gpus: 6, tensor: 6"));
  CHECK(both.code == 1);
  CHECK(both.err.empty());
  CHECK(both.out ==
        "s.yaml:4:47: training.tensor: 3 does not divide 32 attention heads; use 2 or 4\n"
        "s.yaml:5:45: generation.tensor: 6 does not divide 32 attention heads; use 4 or 8\n"
        "not legal (2 findings)\n");
  const Outcome one = check(with(kGood, "gpus: 8, tensor: 4", "gpus: 6, tensor: 6"));
  CHECK(one.code == 1);
  CHECK(one.out ==
        "s.yaml:5:45: generation.tensor: 6 does not divide 32 attention heads; use 4 or 8\n"
        "not legal (1 finding)\n");
}

TEST_CASE("other verbs take illegal layouts for bad input", "[cli][check]") {
  const Folder folder;
  const std::string path =
      folder.write("s.yaml", with(kGood, "gpus: 8, tensor: 4", "gpus: 6, tensor: 6"));
  const Outcome outcome = refit_program({"simulate", path});
  CHECK(outcome.code == 2);
  CHECK(outcome.err == "refit: " + path +
                           ":5:45: generation.tensor: 6 does not divide 32 attention heads; use 4 "
                           "or 8\n");
}

TEST_CASE("check asks the runtimes that are named", "[cli][check]") {
  const Outcome taken = check(kGood, {"--runtime", "nemo_rl_reshard,nemo_rl_sparse"});
  CHECK(taken.code == 0);
  CHECK(taken.out ==
        "nemo_rl_reshard: takes it\nnemo_rl_sparse: takes it\nmoe: correct (1 plan verified)\n");

  // 151,936 rows of 2,048 BF16 numbers are 622,329,856 B.
  const Outcome refused = check(kGood, {"--runtime", "nemo_rl_reshard,vllm_loader"});
  CHECK(refused.code == 1);
  CHECK(refused.err.empty());
  CHECK(refused.out ==
        "nemo_rl_reshard: takes it\n"
        "vllm_loader.bucket: model.embed_tokens.weight: the largest tensor is 622.33 MB (622329856 "
        "B), and a packed broadcast holds 600.00 MB (600000000 B); use plan.bucket: 622329856 B or "
        "more\n"
        "moe: correct (1 plan verified)\n");
}

TEST_CASE("check says a runtime's finding of many tensors once", "[cli][check]") {
  // Experts over 4 ranks, each cut in 2: gate, up and down of every stage.
  const Outcome outcome =
      check(with(kGood, "expert: 4, expert_tensor: 1", "tensor: 2, expert: 4, expert_tensor: 2"),
            {"--runtime", "nccl_m2n"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.out,
            "nccl_m2n.shard_axes: model.layers.0.mlp.experts.{expert}.gate_proj.weight: the source "
            "cuts it along ep 4 and etp 2; one axis may; use one of the two degrees only (and 2 "
            "more)\n"));
}

TEST_CASE("check refuses a runtime that it does not know, or can't ask", "[cli][check]") {
  const Outcome unknown = check(kGood, {"--runtime", "nemo_rl_reshrd"});
  CHECK(unknown.code == 2);
  CHECK(unknown.out.empty());
  CHECK(unknown.err ==
        "refit: --runtime: nemo_rl_reshrd not in "
        "{nccl_m2n,nemo_rl_reshard,nemo_rl_sparse,nemo_rl_s3_sparse,nemo_rl_nixl,vllm_loader}; see "
        "refit --help\n");
  const Outcome no_engines = check(kScenario, {"--runtime", "nemo_rl_nixl"});
  CHECK(no_engines.code == 2);
  CHECK(no_engines.err ==
        "refit: s.yaml: nemo_rl_nixl asks what engines both sides run, and the tensors are written "
        "out; use a scenario with a model, or --runtime nccl_m2n\n");
}

TEST_CASE("check says which GPU is too small for a plan, and what fills it", "[cli][check]") {
  const Folder folder;
  // 200 GB on each of two ranks, on GPUs of 80 GB.
  const std::string scenario = folder.write("large.yaml", R"(scenario: large
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: w
    shape: [100000, 1000000]
    dtype: bf16
    source: {ranks: 0..7, placements: [shard(0)]}
    destination: {ranks: 8..9, placements: [replicate]}
)");
  const Outcome outcome = refit_program({"check", scenario, "--strategy", "direct"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.out, "direct: memory: rank 8 needs "));
  CHECK(has(outcome.out, "200.00 GB of it destination shards, and its GPU has 80.00 GB"));
}

}  // namespace refit
