#include "scenarios/import/areal.h"

#include "scenarios/scenario.h"
#include "tests/scenarios/import/import_test.h"

namespace refit::test {
namespace {

Imported read(const std::string& text, int entry = 0) { return read_areal(text, "a.txt", entry); }

TEST_CASE("AReaL: attention and experts with degrees of their own", "[scenarios][import]") {
  const Imported out = read("sglang:d4p1t4+megatron:(attn:d1p4t2c2|ffn:d1p4t2e2)");
  // 1 x 4 x 2 x 2 = 16 on either side.
  CHECK(keys_in(out.training) ==
        "engine=megatron tensor=2 pipeline=4 context=2 expert=2 expert_tensor=2 gpus=16");
  CHECK(keys_in(out.generation) == "engine=sglang tensor=4 engines=4 gpus=16");
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  answers.model = "qwen3-30b-a3b";
  CHECK(parse_scenario(scenario_text(out, answers), "s.yaml").cluster.gpus() == 32);
}

TEST_CASE("AReaL: short strings take FSDP, or Megatron with pipelines or experts",
          "[scenarios][import]") {
  Imported out = read("vllm:d4p1t2+d4p1t1c2");
  CHECK(keys_in(out.training) == "engine=fsdp context=2 gpus=8");
  CHECK(keys_in(out.generation) == "engine=vllm tensor=2 engines=4 gpus=8");
  CHECK(says(out.assumptions, "AReaL takes fsdp"));
  out = read("sglang.d4p1m1+d2p2m1");  // old spelling: m is t
  CHECK(keys_in(out.training) == "engine=megatron pipeline=2 gpus=4");
  CHECK(keys_in(read("sglang:d2|fsdp:d2").generation) ==
        "engine=sglang engines=2 gpus=2 first_gpu=0");
}

TEST_CASE("AReaL: strings stand in scripts and in YAML, one of several is chosen",
          "[scenarios][import]") {
  CHECK(areal_allocations("python3 x.py allocation_mode=sglang:d1+d1 \\\n cluster.n_nodes=1",
                          "x") == std::vector<std::string>{"sglang:d1+d1"});
  CHECK(areal_allocations("# c\nallocation_mode: \"sglang:d2+fsdp:d2\"\n", "x") ==
        std::vector<std::string>{"sglang:d2+fsdp:d2"});
  const std::string two = "sglang:d1+d1\nvllm:d2+d2\n";
  CHECK(read(two, 2).title == "vllm:d2+d2");
  CHECK(error_in([&] { read(two); }) ==
        "a.txt: has 2 allocation strings; choose one:\n  --entry 1  sglang:d1+d1\n"
        "  --entry 2  vllm:d2+d2");
}

TEST_CASE("AReaL: a training's YAML says an allocation by part", "[scenarios][import]") {
  const std::string yaml =
      "cluster:\n  n_nodes: 2\n  n_gpus_per_node: 8\n"
      "rollout:\n  backend: \"sglang:d4t2\"\n"
      "actor:\n  backend: \"megatron:(attn:d1p4t2c1|ffn:d1p4t1e2)\"\n"
      "  path: Qwen/Qwen3-30B-A3B\n  dtype: float16\n"
      "ref:\n  backend: ${actor.backend}\n";
  const Imported out = read_areal(yaml, "grpo.yaml");
  CHECK(out.title == "grpo");
  CHECK(keys_in(out.model) == "name=qwen3-30b-a3b");
  CHECK(keys_in(out.generation) == "engine=sglang tensor=2 engines=4 gpus=8");
  CHECK(keys_in(out.training) ==
        "engine=megatron tensor=2 pipeline=4 expert=2 expert_tensor=1 gpus=8 precision=fp16");
  CHECK(out.nodes == 2);
  CHECK(out.gpus_per_node == 8);
  const Imported shared = read_areal(
      "rollout:\n  backend: vllm:d2\n  scheduling_strategy: {type: colocation, target: actor}\n"
      "actor:\n  backend: fsdp:d2\n  path: own/model\n",
      "grpo.yaml");
  CHECK(keys_in(shared.generation) == "engine=vllm engines=2 gpus=2 first_gpu=0");
  CHECK(says(shared.left_out, "actor.path: 'own/model' is no model of the catalog"));
  CHECK(error_in([] { read_areal("actor:\n  backend: fsdp:d8\n", "sft.yaml"); }) ==
        "sft.yaml:2:12: actor.backend: there is no rollout.backend, so nothing is moved from "
        "training to generation");
}

TEST_CASE("AReaL: parts may have names, and those after the actor are left out",
          "[scenarios][import]") {
  const Imported out = read("sglang[rollout]:d2+fsdp[actor]:d4|fsdp[critic]:d4");
  CHECK(keys_in(out.generation) == "engine=sglang engines=2 gpus=2");
  CHECK(keys_in(out.training) == "engine=fsdp gpus=4");
  CHECK(says(out.left_out, "'|fsdp[critic]:d4' of the allocation"));
  CHECK(keys_in(read("vllm:d2+[a]:d4p2").training) == "engine=megatron pipeline=2 gpus=8");
}

TEST_CASE("import: a file of machines counts its nodes itself", "[scenarios][import]") {
  ImportAnswers answers;
  answers.model = "qwen3-8b";
  answers.cluster = "lab.yaml";
  answers.nodes = 4;
  CHECK(error_in([&] { scenario_text(read("sglang:d1+d1"), answers); }) ==
        "--nodes 4: lab.yaml says itself how many nodes there are; change it there");
}

TEST_CASE("AReaL: what is wrong is shown in the string", "[scenarios][import]") {
  const auto complaint = [](const char* text) { return error_in([&] { read(text); }); };
  CHECK_THAT(complaint("sglang:d4+x4"),
             Catch::Contains("unknown degree 'x'") && Catch::Contains("behind 'sglang:d4+x'"));
  CHECK_THAT(complaint("sglang:d4d2+d4"), Catch::Contains("'d' stands twice"));
  CHECK_THAT(complaint("sglang:d+d4"), Catch::Contains("a number from 1"));
  CHECK_THAT(complaint("sglang:d4+trl:d4"), Catch::Contains("no layout is known of 'trl'"));
  CHECK_THAT(complaint("sglang:d4|d2"), Catch::Contains("'|' shares GPUs"));
  CHECK_THAT(complaint("sglang:d4+megatron:(attn:d1p2|ffn:d1p1e2)"),
             Catch::Contains("p of attn and of ffn differ"));
  CHECK_THAT(complaint("sglang:d4+megatron:(attn:d4|ffn:d1e2)"),
             Catch::Contains("attn has 4 ranks, ffn 2"));
  CHECK_THAT(complaint("sglang:d4+d4 "), Catch::Contains("no error"));
  CHECK_THAT(complaint("sglang:d1000000t1000000+d4"), Catch::Contains("more ranks"));
  // The product of the degrees is 2^64, which was taken for 0.
  CHECK_THAT(complaint("sglang:d4+megatron:d65536p65536t65536c65536"),
             Catch::Contains("more ranks"));
  CHECK_THAT(complaint("sglang:d4+megatron:(attn:d1000000p1000000t1000000c1000000|"
                       "ffn:d1000000p1000000t1000000e1000000c1000000)"),
             Catch::Contains("more ranks"));
  CHECK_THAT(complaint("hello"), Catch::Contains("no allocation string in it"));
}

}  // namespace
}  // namespace refit::test
