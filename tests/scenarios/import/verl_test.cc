#include "scenarios/import/verl.h"

#include "scenarios/scenario.h"
#include "tests/scenarios/import/import_test.h"

namespace refit::test {
namespace {

Imported read(const std::string& text, const ImportAnswers& answers = {}) {
  return read_verl(text, "run.sh", answers);
}

const std::string kMegatron =
    "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer \\\n"
    "  trainer.nnodes=4 trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.name=vllm \\\n"
    "  actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \\\n"
    "  actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \\\n"
    "  actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 \\\n"
    "  actor_rollout_ref.actor.megatron.expert_model_parallel_size=4 \\\n";

TEST_CASE("verl: overrides of a launch script are both sides on the same GPUs",
          "[scenarios][import]") {
  const Imported out = read(kMegatron +
                            "  actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1 "
                            "actor_rollout_ref.rollout.tensor_model_parallel_size=8 "
                            "+actor_rollout_ref.actor.megatron.override_transformer_config."
                            "num_layers_in_last_pipeline_stage=22\n");
  CHECK(
      keys_in(out.training) ==
      "gpus=32 engine=megatron tensor=4 pipeline=2 expert=4 expert_tensor=1 last_stage_layers=22");
  CHECK(keys_in(out.generation) == "gpus=32 first_gpu=0 engine=vllm tensor=8");
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  const Scenario scenario = parse_scenario(scenario_text(out, answers), "s.yaml");
  CHECK(scenario.model->name == "qwen3-30b-a3b");
  CHECK(scenario.cluster.gpus() == 32);
}

TEST_CASE("verl: null expert tensor parallelism is Megatron's default, that of tensor",
          "[scenarios][import]") {
  for (const std::string& more :
       {std::string(),
        std::string("actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=null")}) {
    const Imported out = read(kMegatron + more);
    CHECK(integer_key(out.training, "expert_tensor") == 4);
    CHECK(says(out.assumptions, "expert_tensor_parallel_size is null or not there"));
  }
}

TEST_CASE("verl: defaults are said, and an engine that nobody names is asked for",
          "[scenarios][import]") {
  const Imported out = read("actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2\n");
  CHECK(*integer_key(out.training, "gpus") == 8);
  CHECK(*integer_key(out.generation, "tensor") == 2);
  CHECK(says(out.assumptions, "no trainer.n_gpus_per_node: verl takes 8"));
  CHECK(says(out.assumptions, "no rollout.tensor_model_parallel_size: verl takes 2"));
  CHECK(says(out.asked, "generation.engine: no rollout.name"));
}

TEST_CASE("verl: data and expert parallelism of a rollout depend on its engine",
          "[scenarios][import]") {
  const std::string text = kMegatron +
                           "  actor_rollout_ref.rollout.tensor_model_parallel_size=8 "
                           "actor_rollout_ref.rollout.data_parallel_size=4 "
                           "actor_rollout_ref.rollout.expert_parallel_size=32 ";
  CHECK(keys_in(read(text).generation) ==
        "gpus=32 first_gpu=0 engine=vllm tensor=8 data=4 expert_parallel=true");
  CHECK(keys_in(read(text + "actor_rollout_ref.rollout.name=sglang").generation) ==
        "gpus=32 first_gpu=0 engine=sglang tensor=32 attention_data=4 expert=32");
  CHECK_THAT(error_in([&] { read(text + "actor_rollout_ref.rollout.expert_parallel_size=16"); }),
             Catch::Contains("16 is not tensor x data = 8 x 4"));
}

TEST_CASE("verl: FSDP over all ranks, or over some of them with copies", "[scenarios][import]") {
  const std::string text =
      "trainer.nnodes=2 trainer.n_gpus_per_node=8 "
      "actor_rollout_ref.actor.strategy=fsdp2 ";
  CHECK(keys_in(read(text).training) == "gpus=16 engine=fsdp precision=fp32");
  CHECK(keys_in(read(text + "actor_rollout_ref.actor.fsdp_config.fsdp_size=-1").training) ==
        "gpus=16 engine=fsdp precision=fp32");
  CHECK(keys_in(read(text + "actor_rollout_ref.actor.fsdp_config.fsdp_size=4").training) ==
        "gpus=16 engine=fsdp replicate=4 precision=fp32");
  CHECK_THAT(error_in([&] { read(text + "actor_rollout_ref.actor.fsdp_config.fsdp_size=3"); }),
             Catch::Contains("does not divide 16 GPUs"));
}

TEST_CASE("verl: FSDP holds its weights in fp32 unless told otherwise", "[scenarios][import]") {
  const std::string text =
      "trainer.nnodes=1 actor_rollout_ref.rollout.name=vllm "
      "actor_rollout_ref.model.path=Qwen/Qwen3-8B ";
  const std::string key = "actor_rollout_ref.actor.fsdp_config.model_dtype=";
  const Imported out = read(text);
  CHECK(keys_in(out.scenario) == "convert=destination");
  CHECK(says(out.assumptions, "verl holds FSDP's weights in fp32"));
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  // Gathered as they are held: 4 B an element travel, and become 2 B where they are loaded.
  const std::string written = scenario_text(out, answers);
  CHECK_THAT(written, Catch::Contains("\nconvert: destination  # verl gathers weights"));
  CHECK(parse_scenario(written, "s.yaml").training->gpus == 8);
  CHECK(keys_in(read(text + key + "bfloat16").training) == "gpus=8 engine=fsdp");
  CHECK(read(text + key + "bf16").scenario.empty());
  CHECK(keys_in(read(text + key + "fp16").training) == "gpus=8 engine=fsdp precision=fp16");
  CHECK_THAT(error_in([&] { read(text + key + "int8"); }),
             Catch::Contains("unknown type 'int8'; known are fp32, bf16, fp16"));
}

TEST_CASE("verl: folders and variables that only the shell knows", "[scenarios][import]") {
  const Imported out = read(
      "HOME_OF=${HOME_OF:-\"${HOME}/verl\"}\nMODEL=${MODEL:-\"${HOME_OF}/models/Qwen3-8B\"}\n"
      "env.cfg.dir='\"$HOME\"'/video actor_rollout_ref.model.path=\"${MODEL}\" "
      "trainer.nnodes=${SLURM_JOB_NUM_NODES} actor_rollout_ref.rollout.name=vllm\n");
  CHECK(keys_in(out.model) == "name=qwen3-8b");
  CHECK(says(out.asked,
             "training.gpus: trainer.nnodes is $SLURM_JOB_NUM_NODES, which the file does not set"));
  CHECK(says(read("actor_rollout_ref.model.path=own/model trainer.nnodes=1").left_out,
             "'own/model' is no model of the catalog; its config.json will do"));
}

TEST_CASE("verl: variables of the script, other words, and what is none of verl's",
          "[scenarios][import]") {
  const Imported out = read(
      "TP=8\ndata.x=1 trainer.nnodes=2 "
      "actor_rollout_ref.rollout.tensor_model_parallel_size=$TP "
      "actor_rollout_ref.rollout.data_parallel_size=$DP\n");
  CHECK(*integer_key(out.generation, "tensor") == 8);
  CHECK(says(out.asked, "generation.data: actor_rollout_ref.rollout.data_parallel_size is $DP"));
  CHECK_THAT(error_in([] { read("echo hello\n"); }), Catch::Contains("no overrides of verl"));
  CHECK_THAT(error_in([] { read("optim.lr=1\n"); }), Catch::Contains("none of verl's"));
  CHECK_THAT(error_in([] { read("trainer.nnodes=two\n"); }),
             Catch::Contains("trainer.nnodes: expected an integer"));
}

}  // namespace
}  // namespace refit::test
