#include "scenarios/import/m2n_system.h"

#include "scenarios/scenario.h"
#include "tests/scenarios/import/import_test.h"

namespace refit::test {
namespace {

std::string system_of(const std::string& train, const std::string& generation) {
  return "{\"train\": {" + train + "}, \"generation\": {" + generation + "}}";
}

Imported read(const std::string& train, const std::string& generation,
              const ImportAnswers& answers = {}) {
  return read_m2n_system(system_of(train, generation), "s.json", answers);
}

TEST_CASE("M2N system: experts of training are whole, the rest is copies", "[scenarios][import]") {
  ImportAnswers answers;
  answers.model = "qwen3-30b-a3b";
  answers.cluster = "dgx_h100";
  const Imported out =
      read("\"num_gpus\": 16, \"tp_size\": 2, \"ep_size\": 8, \"pp_size\": 2, \"dp_size\": 4",
           "\"num_gpus\": 8, \"tp_size\": 4, \"dp_size\": 2", answers);
  CHECK(keys_in(out.training) ==
        "engine=megatron tensor=2 pipeline=2 expert=8 expert_tensor=1 gpus=16");
  CHECK(keys_in(out.generation) == "engine=vllm tensor=4 gpus=8");
  CHECK_FALSE(says(out.left_out, "dp_size"));  // 16 / (2 x 2) = 4 and 8 / 4 = 2 copies, as said
  CHECK(parse_scenario(scenario_text(out, answers), "s.yaml").cluster.gpus() == 24);
}

TEST_CASE("M2N system: what the bench ignores is said where it contradicts",
          "[scenarios][import]") {
  const Imported out = read("\"num_gpus\": 16, \"tp_size\": 2, \"dp_size\": 3, \"fsdp_size\": 2",
                            "\"num_gpus\": 8, \"tp_size\": 4, \"dp_size\": 5");
  CHECK(says(out.left_out, "train.dp_size: 3, but 16 GPUs / (pp 1 x tp 2 x cp 1) are 8 copies"));
  CHECK(says(out.left_out, "train.fsdp_size: 2; the bench ignores it"));
  CHECK(says(out.left_out, "generation.dp_size: 5"));
  CHECK(says(out.left_out, "--gpus-per-node defaults to 8, whatever nodes have"));
}

TEST_CASE("M2N system: layers that do not divide lie as in the bench", "[scenarios][import]") {
  ImportAnswers answers;
  answers.model = "qwen2.5-1.5b";  // 28 layers on 8 stages: l x 8 / 28 gives 4, 3, 4, 3, ...
  const Imported out = read("\"num_gpus\": 8, \"pp_size\": 8", "\"num_gpus\": 1", answers);
  CHECK(find_key(out.training, "stage_layers")->value == "[4, 3, 4, 3, 4, 3, 4, 3]");
}

TEST_CASE("M2N system: wrong files and numbers are named", "[scenarios][import]") {
  CHECK_THAT(error_in([] { read("\"tp_size\": 2", "\"num_gpus\": 8"); }),
             Catch::Contains("s.json:1:11: train: missing key 'num_gpus'"));
  CHECK_THAT(error_in([] { read("\"num_gpus\": 6, \"pp_size\": 4", "\"num_gpus\": 8"); }),
             Catch::Contains("train.pp_size: 4 does not divide num_gpus 6"));
  CHECK_THAT(error_in([] { read_m2n_system("{\"a\": 1}", "s.json", {}); }),
             Catch::Contains("no system file of NCCL M2N"));
}

}  // namespace
}  // namespace refit::test
