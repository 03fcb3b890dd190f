#include "models/engine_rules.h"

#include "tests/models/generation_case.h"

namespace refit::test {

TEST_CASE("engine rules: nothing written means the latest release, a patch its release",
          "[models][engines]") {
  REQUIRE(engine_rules("vllm").version == "0.11");
  REQUIRE(engine_rules("vllm", "0.10").version == "0.10");
  REQUIRE(engine_rules("vllm", "0.10.2").version == "0.10");
  REQUIRE(engine_rules("sglang").version == "0.5.9");
  REQUIRE(engine_rules("sglang", "0.5.6.post1").version == "0.5.6");
}

TEST_CASE("engine rules: an unknown release is refused with the known ones", "[models][engines]") {
  REQUIRE(refusal([] { engine_rules("vllm", "0.1"); }) ==
          "version: vllm 0.1 is not known; use the last one that is not newer: 0.10, 0.11");
  // 0.110 is no patch of 0.11.
  REQUIRE(refusal([] { engine_rules("vllm", "0.110"); }) ==
          "version: vllm 0.110 is not known; use the last one that is not newer: 0.10, 0.11");
  REQUIRE(refusal([] { engine_rules("sglang", "latest"); }) ==
          "version: sglang latest is not known; use the last one that is not newer: 0.5.5, 0.5.6, "
          "0.5.9");
}

TEST_CASE("engine rules: an all-to-all backend is one of the release's", "[models][engines]") {
  const EngineRules rules = engine_rules("sglang");
  REQUIRE(rules.all2all("") == "none");
  REQUIRE(rules.all2all("deepep") == "deepep");
  REQUIRE(refusal([&] { rules.all2all("pplx"); }) ==
          "all2all_backend: 'pplx' is not known in version 0.5.9; use one of none, deepep, "
          "mooncake");
  REQUIRE(engine_rules("vllm").all2all("") == "allgather_reducescatter");
}

TEST_CASE("engine rules: four ways to deal out layers that do not divide", "[models][engines]") {
  using Sizes = std::vector<int>;
  // 61 = 8 x 7 + 5
  REQUIRE(stage_sizes(61, 8, StageRemainder::before_last) == Sizes{7, 7, 8, 8, 8, 8, 8, 7});
  REQUIRE(stage_sizes(61, 8, StageRemainder::last) == Sizes{7, 7, 7, 8, 8, 8, 8, 8});
  REQUIRE(stage_sizes(61, 8, StageRemainder::first) == Sizes{8, 8, 8, 8, 8, 7, 7, 7});
  REQUIRE(stage_sizes(61, 8, StageRemainder::last_stage) == Sizes{7, 7, 7, 7, 7, 7, 7, 12});
  for (const auto remainder : {StageRemainder::before_last, StageRemainder::last,
                               StageRemainder::first, StageRemainder::last_stage}) {
    REQUIRE(stage_sizes(64, 8, remainder) == Sizes(8, 8));
    REQUIRE(stage_sizes(5, 1, remainder) == Sizes{5});
    for (int layers = 1; layers <= 20; ++layers) {
      for (int stages = 1; stages <= layers; ++stages) {
        int sum = 0;
        for (const int size : stage_sizes(layers, stages, remainder)) sum += size;
        REQUIRE(sum == layers);
      }
    }
  }
  REQUIRE(refusal([] { stage_sizes(5, 6, StageRemainder::last); }) ==
          "pipeline: 6 stages for 5 layers; use 1 to 5");
  REQUIRE(refusal([] { stage_sizes(5, 0, StageRemainder::last); }) ==
          "pipeline: 0 stages for 5 layers; use 1 to 5");
}

}  // namespace refit::test
