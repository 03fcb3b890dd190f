// The `runtime` part: what is said is read, what is unknown is refused.
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

std::string with(const std::string& runtime) {
  return "scenario: s\ncluster: {catalog: dgx_h100, nodes: 2}\nmodel: qwen3-8b\n"
         "training: {engine: megatron, gpus: 8}\ngeneration: {engine: vllm, gpus: 8}\n"
         "runtime: " +
         runtime + "\n";
}

RuntimeFacts read(const std::string& runtime) {
  return parse_scenario(with(runtime), "s.yaml").runtime;
}

}  // namespace

TEST_CASE("runtime: what is not said is what nobody refuses", "[scenarios]") {
  const RuntimeFacts facts = read("{}");
  CHECK_FALSE((facts.eplb || facts.real_quant || facts.quant_cfg || facts.async_rollouts ||
               facts.reset_encoder_cache));
  CHECK(facts.kv_cache == "auto");
  CHECK(facts.algorithm == "grpo");
  CHECK(facts.importance_sampling);
  CHECK_FALSE(facts.refit_buffer_bytes);
  CHECK(facts.s3_bucket.empty());
}

TEST_CASE("runtime: every key is read", "[scenarios]") {
  const RuntimeFacts facts = read(
      "{eplb: true, real_quant: true, quant_cfg: true, kv_cache: fp8, async_rollouts: true, "
      "algorithm: dapo, importance_sampling: false, reset_encoder_cache: true, refit_buffer: "
      "2 GiB, s3_bucket: deltas}");
  CHECK(facts.eplb);
  CHECK(facts.real_quant);
  CHECK(facts.quant_cfg);
  CHECK(facts.kv_cache == "fp8");
  CHECK(facts.async_rollouts);
  CHECK(facts.algorithm == "dapo");
  CHECK_FALSE(facts.importance_sampling);
  CHECK(facts.reset_encoder_cache);
  CHECK(facts.refit_buffer_bytes == std::int64_t{2} << 30);
  CHECK(facts.s3_bucket == "deltas");
}

TEST_CASE("runtime: an unknown key or word is refused where it stands", "[scenarios]") {
  CHECK(error_of(with("{real_quants: true}")) ==
        "s.yaml:6:11: runtime: unknown key 'real_quants'; did you mean 'real_quant'? known keys: "
        "eplb, real_quant, quant_cfg, kv_cache, async_rollouts, algorithm, importance_sampling, "
        "reset_encoder_cache, refit_buffer, s3_bucket");
  CHECK(error_of(with("{kv_cache: fp4}")) ==
        "s.yaml:6:21: runtime.kv_cache: unknown value 'fp4'; did you mean 'fp8'? known values: "
        "auto, bf16, fp16, fp8");
  CHECK(error_of(with("{refit_buffer: 2}")) ==
        "s.yaml:6:25: runtime.refit_buffer: 2: a number without a unit; write it like '64 MiB'");
  CHECK(error_of(with("{eplb: 2}")) ==
        "s.yaml:6:17: runtime.eplb: expected true or false, got '2'");
}

TEST_CASE("runtime: tensors written out have none", "[scenarios]") {
  CHECK(
      error_of("scenario: s\ncluster: {catalog: dgx_h100, nodes: 1}\ntensors: []\nruntime: {}\n") ==
      "s.yaml:4:10: runtime: a scenario has either `tensors`, or `model` with its two sides");
}

}  // namespace refit::test
