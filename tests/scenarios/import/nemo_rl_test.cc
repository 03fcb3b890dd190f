#include "scenarios/import/nemo_rl.h"

#include "scenarios/scenario.h"
#include "tests/scenarios/import/import_test.h"

namespace refit::test {
namespace {

// A recipe in the shape of NeMo RL's, small.
const char* const kRecipe = R"(
policy:
  model_name: Qwen/Qwen3-30B-A3B-Instruct-2507
  precision: bfloat16
  megatron_cfg:
    enabled: true
    tensor_model_parallel_size: 2
    pipeline_model_parallel_size: 2
    expert_model_parallel_size: 4
    expert_tensor_parallel_size: 1
    context_parallel_size: 1
    num_layers_in_first_pipeline_stage: null
    mtp_num_layers: 0
    virtual_pipeline_model_parallel_size: null
    env_vars: null
    fp8_cfg: {enabled: false, fp8: e4m3, fp8_recipe: blockwise, fp8_param: false}
  dtensor_cfg: {enabled: false, _v2: true, tensor_parallel_size: 4}
  generation:
    backend: vllm
    refit_transport: null
    vllm_cfg:
      precision: ${policy.precision}
      tensor_parallel_size: 2
      pipeline_parallel_size: 1
      expert_parallel_size: 1
    colocated: {enabled: false, resources: {num_nodes: 1, gpus_per_node: 8}}
cluster: {num_nodes: 3, gpus_per_node: 8, segment_size: null}
grpo: {async_grpo: {enabled: true}}
loss_fn: {use_importance_sampling_correction: true}
)";

Imported read(const std::vector<std::string>& words = {}, const std::string& text = kRecipe) {
  HydraConfig recipe = HydraConfig::parse(text, "r.yaml");
  for (const std::string& word : words) recipe.apply(word);
  return read_nemo_rl(recipe, "r.yaml");
}

TEST_CASE("NeMo RL: nodes of generation are taken off those of training", "[scenarios][import]") {
  const Imported out = read();
  // 3 nodes of 8: 1 generates, 2 train.
  CHECK(keys_in(out.training) ==
        "engine=megatron tensor=2 pipeline=2 context=1 expert=4 expert_tensor=1 "
        "vocab_padding=bridge gpus=16");
  CHECK(keys_in(out.generation) == "engine=vllm tensor=2 pipeline=1 gpus=8");
  CHECK(keys_in(out.model) == "name=qwen3-30b-a3b");
  CHECK(keys_in(out.runtime) == "async_rollouts=true");
  CHECK(says(out.assumptions, "nemo_rl_packed"));
  CHECK(out.left_out.empty());
}

TEST_CASE("NeMo RL: numbers are written as a scenario has them", "[scenarios][import]") {
  // A division leaves 2.0, and YAML may say 5. or .5; what was written then could not be read.
  const std::string cfg = "+policy.generation.sglang_cfg.";
  const Imported out =
      read({"policy.generation.backend=sglang", cfg + "tp_size=8", cfg + "dp_size=2.0",
            cfg + "enable_dp_attention=true", "+policy.refit_buffer_size_gb=5."});
  CHECK(find_key(out.generation, "attention_data")->value == "2");
  CHECK(find_key(out.runtime, "refit_buffer")->value == "5 GiB");
  CHECK(find_key(read({"+policy.refit_buffer_size_gb=.5"}).runtime, "refit_buffer")->value ==
        "0.5 GiB");
}

TEST_CASE("NeMo RL: a recipe is a scenario that can be read", "[scenarios][import]") {
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  const std::string text = scenario_text(read(), answers);
  const Scenario scenario = parse_scenario(text, "r.yaml");
  CHECK(scenario.cluster.gpus() == 24);
  CHECK(scenario.training->tensor == 2);
  CHECK(scenario.training->expert == 4);
  CHECK(scenario.generation->gpus == 8);
  CHECK(scenario.generation->first.value == 16);
  CHECK_THAT(text, Catch::Contains("tensor: 2  # policy.megatron_cfg.tensor_model_parallel_size"));
}

TEST_CASE("NeMo RL: colocated sides share all GPUs", "[scenarios][import]") {
  const Imported out = read(
      {"policy.generation.colocated.enabled=false", "policy.generation.colocated.enabled=true"});
  CHECK(keys_in(out.generation) == "engine=vllm tensor=2 pipeline=1 gpus=24 first_gpu=0");
  CHECK(*integer_key(out.training, "gpus") == 24);
}

TEST_CASE("NeMo RL: on one node generation has some of its GPUs", "[scenarios][import]") {
  const std::vector<std::string> one = {"cluster.num_nodes=1",
                                        "policy.megatron_cfg.pipeline_model_parallel_size=1",
                                        "policy.generation.colocated.resources.gpus_per_node=2"};
  const Imported out = read(one);
  CHECK(*integer_key(out.training, "gpus") == 6);
  CHECK(*integer_key(out.generation, "gpus") == 2);
  auto all = one;
  all.back() = "policy.generation.colocated.resources.gpus_per_node=8";
  CHECK_THAT(error_in([&] { read(all); }), Catch::Contains("leaves training none of 8 GPUs"));
}

TEST_CASE("NeMo RL: wrong splits of nodes are named by their key", "[scenarios][import]") {
  CHECK_THAT(
      error_in([] { read({"policy.generation.colocated.resources.num_nodes=3"}); }),
      Catch::Contains("policy.generation.colocated.resources.num_nodes: leaves training none "
                      "of 3 nodes"));
  CHECK_THAT(error_in([] { read({"policy.generation.colocated.resources.gpus_per_node=4"}); }),
             Catch::Contains("whole nodes are given to generation; write 8"));
  CHECK_THAT(error_in([] { read({"cluster.num_nodes=x"}); }),
             Catch::Contains("cluster.num_nodes: expected an integer"));
  CHECK_THAT(error_in([] { read({"policy.dtensor_cfg.enabled=true"}); }),
             Catch::Contains("one of them trains"));
  CHECK_THAT(error_in([] { read({"policy.generation.refit_transport=nccl_reshrd"}); }),
             Catch::Contains("unknown transport 'nccl_reshrd'"));
}

TEST_CASE("NeMo RL: DTensor's second version is Automodel, the first plain FSDP",
          "[scenarios][import]") {
  const std::vector<std::string> v2 = {"policy.megatron_cfg.enabled=false",
                                       "policy.dtensor_cfg.enabled=true"};
  CHECK(keys_in(read(v2).training) == "engine=automodel tensor=4 gpus=16");
  auto v1 = v2;
  v1.emplace_back("policy.dtensor_cfg._v2=false");
  CHECK(keys_in(read(v1).training) == "engine=fsdp tensor=4 gpus=16");
}

TEST_CASE("NeMo RL: vLLM's expert parallelism is data over tensor ranks of one engine",
          "[scenarios][import]") {
  const Imported out = read({"policy.generation.vllm_cfg.expert_parallel_size=8"});
  CHECK(keys_in(out.generation) ==
        "engine=vllm tensor=2 pipeline=1 data=4 expert_parallel=true gpus=8");
  CHECK_THAT(error_in([] { read({"policy.generation.vllm_cfg.expert_parallel_size=3"}); }),
             Catch::Contains("3 is no multiple of tensor_parallel_size 2"));
}

TEST_CASE("NeMo RL: FP8 rollouts keep the layers that the recipe names", "[scenarios][import]") {
  Imported out = read({"policy.generation.vllm_cfg.precision=fp8"});
  CHECK(find_key(out.generation, "precision")->value == "fp8_blockwise");
  out = read({"policy.generation.vllm_cfg.precision=fp8", "+policy.generation.vllm_cfg.is_mx=true",
              "+policy.generation.vllm_cfg.quantization_ignored_layer_kws=[q_proj, o_proj]"});
  CHECK(find_key(out.generation, "precision")->value ==
        "{format: mxfp8, roles: [routed_expert, shared_expert, dense_ffn]}");
  // FP8 training without fp8_param keeps BF16 weights.
  out = read({"policy.megatron_cfg.fp8_cfg.enabled=true"});
  CHECK(find_key(out.training, "precision") == nullptr);
  out = read(
      {"policy.megatron_cfg.fp8_cfg.enabled=true", "policy.megatron_cfg.fp8_cfg.fp8_param=true"});
  CHECK(find_key(out.training, "precision")->value == "fp8_blockwise");
}

TEST_CASE("NeMo RL: Megatron generates as it trains unless told otherwise", "[scenarios][import]") {
  const Imported out =
      read({"policy.generation.backend=megatron",
            "+policy.generation.mcore_generation_config={expert_model_parallel_size: 2}"});
  CHECK(keys_in(out.generation) ==
        "engine=megatron tensor=2 pipeline=2 context=1 expert=2 expert_tensor=1 "
        "vocab_padding=bridge gpus=8");
}

TEST_CASE("NeMo RL: streams and buffers of the refit come from the environment",
          "[scenarios][import]") {
  const Imported out =
      read({"policy.megatron_cfg.env_vars={NRL_REFIT_NUM_STREAMS: 4, "
            "NRL_REFIT_NUM_BUFFERS: 3, NRL_REFIT_BUFFER_MEMORY_RATIO: 0.1}"});
  CHECK(keys_in(out.plan) == "streams=4 buffers=3");
  CHECK(says(out.left_out, "NRL_REFIT_BUFFER_MEMORY_RATIO: 0.1"));
}

TEST_CASE("NeMo RL: a key that sounds like a layout and is not understood is said",
          "[scenarios][import]") {
  const Imported out = read({"+policy.megatron_cfg.hyper_parallel_size=4",
                             "+policy.megatron_cfg.attention_softmax_in_fp32=true",
                             "+policy.megatron_cfg.peft={enabled: true}"});
  CHECK(says(out.left_out, "policy.megatron_cfg.hyper_parallel_size: 4"));
  CHECK(says(out.left_out, "peft.enabled is true"));
  CHECK(out.left_out.size() == 2);
}

TEST_CASE("NeMo RL: what the recipe cannot know is asked for, all at once", "[scenarios][import]") {
  Imported out = read({"policy.model_name='Follow the guide'"});
  CHECK(out.model.empty());
  const std::string error = error_in([&] { scenario_text(out, {}); });
  CHECK_THAT(error, Catch::Contains("--model NAME"));
  CHECK_THAT(error, Catch::Contains("--cluster NAME"));
}

TEST_CASE("NeMo RL: segments are domains only where NVLink spans nodes", "[scenarios][import]") {
  const std::vector<std::string> words = {
      "cluster.gpus_per_node=4", "cluster.segment_size=2", "cluster.num_nodes=6",
      "policy.generation.colocated.resources={num_nodes: 2, gpus_per_node: 4}"};
  ImportAnswers answers;
  answers.cluster = "gb200_nvl72";
  // 2 nodes of 4 GPUs: 8.
  CHECK_THAT(scenario_text(read(words), answers), Catch::Contains("nvlink_domain_gpus: 8"));
  answers.cluster = "dgx_h100";
  CHECK_THAT(error_in([&] { scenario_text(read(words), answers); }),
             Catch::Contains("nodes have 4 GPUs (cluster.gpus_per_node), but those of dgx_h100 "
                             "have 8"));
}

TEST_CASE("imported: fewer nodes than the file needs are refused, more are spare",
          "[scenarios][import]") {
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  answers.nodes = 2;
  CHECK_THAT(
      error_in([&] { scenario_text(read(), answers); }),
      Catch::Contains("needs 24 GPUs, but --nodes 2 of dgx_h100 have 16; use 3 nodes or more"));
  answers.nodes = 4;
  CHECK(parse_scenario(scenario_text(read(), answers), "r.yaml").cluster.gpus() == 32);
}

TEST_CASE("imported: --set goes before the file", "[scenarios][import]") {
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  answers.set = {"generation.tensor=4", "plan.streams=3"};
  const Scenario scenario = parse_scenario(scenario_text(read(), answers), "r.yaml");
  CHECK(scenario.generation->tensor == 4);
  CHECK(scenario.plan.streams == 3);
  answers.set = {"tensor=4"};
  CHECK_THAT(error_in([&] { scenario_text(read(), answers); }),
             Catch::Contains("--set tensor=4: expected KEY=VALUE with a key of a scenario"));
}

TEST_CASE("imported: names of hubs are names of the catalog", "[scenarios][import]") {
  CHECK(catalog_name_of("meta-llama/Llama-3.1-8B-Instruct") == "llama-3.1-8b");
  CHECK(catalog_name_of("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-Base-BF16") ==
        "nemotron-3-nano-30b-a3b");
  CHECK(catalog_name_of("Qwen/Qwen3-235B-A22B") == "qwen3-235b-a22b");
  CHECK_FALSE(catalog_name_of("someone/Qwen3-235B-A22B-pruned"));
  // Another generation with the same shapes.
  CHECK(catalog_name_of("Qwen/Qwen2-7B-Instruct") == "qwen2.5-7b");
  CHECK(catalog_name_of("Qwen/Qwen2.5-Math-7B") == "qwen2.5-7b");
  CHECK(catalog_name_of("meta-llama/Llama-3.3-70B-Instruct") == "llama-3.1-70b");
  CHECK(catalog_name_of("meta-llama/Meta-Llama-3-8B") == "llama-3.1-8b");
  CHECK(catalog_name_of("MiniMaxAI/MiniMax-M2.7") == "minimax-m2");
  // This one has a head of its own, which Qwen2.5-1.5B has not.
  CHECK_FALSE(catalog_name_of("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"));
}

}  // namespace
}  // namespace refit::test
