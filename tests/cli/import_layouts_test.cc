#include "tests/cli/program.h"

namespace refit {
namespace {

const std::string kExamples = std::string(REFIT_EXAMPLES) + "/layouts/";

TEST_CASE("import nemo: a recipe is a scenario that simulate takes", "[cli][import]") {
  const Folder folder;
  const Outcome made = refit_program({"import", "nemo", kExamples + "grpo_qwen3_30b.yaml",
                                      "--cluster", "dgx_h100", "-o", folder / "s.yaml"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  const std::string text = text_of(folder / "s.yaml");
  CHECK(has(text, "expert: 8  # policy.megatron_cfg.expert_model_parallel_size"));
  CHECK(has(text, "nodes: 4  # as many as the GPUs below need"));
  const Outcome checked = refit_program({"check", folder / "s.yaml", "--strategy", "reshard"});
  INFO(checked.out << checked.err);
  CHECK(checked.code == 0);
  // The same without a file between, and an override on top: TP4 instead of 2.
  const Outcome direct =
      refit_program({"simulate", "--nemo", kExamples + "grpo_qwen3_30b.yaml", "--override",
                     "policy.generation.vllm_cfg.tensor_parallel_size=4", "--cluster", "dgx_h100",
                     "--nodes", "6", "--strategy", "reshard"});
  INFO(direct.err);
  REQUIRE(direct.code == 0);
  CHECK(has(direct.out, "6 x dgx_h100"));
  CHECK(has(direct.out, "qwen3-30b-a3b"));
}

TEST_CASE("import: what nobody says is asked for, with exit 2", "[cli][import]") {
  const Outcome outcome = refit_program({"import", "areal", kExamples + "allocation.txt"});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "model: say --model NAME"));
  CHECK(has(outcome.err, "cluster: say --cluster NAME"));
  CHECK(outcome.out.empty());
}

TEST_CASE("import: a file that is something else is named", "[cli][import]") {
  const Folder folder;
  const std::string graph = folder.write("g.xml", "<graphs version=\"1\"></graphs>\n");
  const std::string index = folder.write("i.json", "{\"weight_map\": {\"a\": \"b\"}}\n");
  const auto said = [](const std::vector<std::string>& words) {
    const Outcome outcome = refit_program(words);
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(has(said({"import", "nemo", graph}),
            "g.xml: this is an NCCL graph file; expected a recipe of NeMo RL"));
  CHECK(has(said({"import", "verl", kExamples + "train.sh"}),
            "train.sh: this is flags of Megatron, slime or miles; expected overrides of verl"));
  CHECK(has(said({"import", "m2n-system", index}), "this is the index of a checkpoint"));
  CHECK(has(said({"import", "safetensors-index", graph}), "this is an NCCL graph file"));
  CHECK(has(said({"import", "safetensors-index", index}), "an index has names and no shapes"));
}

TEST_CASE("import: a program that makes flags is no list of flags", "[cli][import]") {
  const Folder folder;
  const std::string program = folder.write(
      "run.py", "import os\n\ndef execute(args):\n    a = \"--tensor-model-parallel-size 4 \"\n");
  const Outcome outcome = refit_program({"import", "slime", program});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err,
            "run.py: this is a Python program, which makes its flags while it runs (give the "
            "command that it starts, which its log shows); expected flags of Megatron"));
  // A shell script may hold a piece of Python.
  const std::string script = folder.write(
      "run.sh",
      "#!/bin/bash\npython3 - <<EOF\ndef f(x):\n  pass\nEOF\n"
      "torchrun --nnodes 1 --nproc-per-node 8 x.py --num-layers 48 --hidden-size 2048\n");
  CHECK(has(refit_program({"import", "slime", script}).err, "generation.engine"));
}

TEST_CASE("import: a model file of another kind is named, though it could make a model",
          "[cli][import]") {
  const Folder folder;
  const std::string config = folder.write("config.json",
                                          "{\"architectures\": [\"Qwen3ForCausalLM\"], "
                                          "\"torch_dtype\": \"float32\"}\n");
  const std::string layer =
      folder.write("moe.json", "{\"num_layers\": 1, \"default_tensors\": []}");
  const auto said = [](const std::vector<std::string>& words) {
    const Outcome outcome = refit_program(words);
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(has(said({"import", "m2n-model", config}),
            "this is a config.json of Hugging Face; expected a model file of NCCL M2N"));
  CHECK(has(said({"import", "safetensors", config}),
            "this is a config.json of Hugging Face; expected a file named .safetensors, or the "
            "index of a checkpoint"));
  CHECK(has(said({"import", "m2n-model", layer}), "this is a layer file of NCCL M2N"));
}

TEST_CASE("import hf-config: types and quantization that are not taken over are said",
          "[cli][import]") {
  const Folder folder;
  const auto made = [&](const std::string& more) {
    const std::string config = folder.write(
        "config.json",
        "{\"architectures\": [\"Qwen3ForCausalLM\"], \"hidden_size\": 64, \"vocab_size\": 128, "
        "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"num_key_value_heads\": 1, "
        "\"head_dim\": 32, \"intermediate_size\": 128" +
            more + "}\n");
    const Outcome outcome = refit_program({"import", "hf-config", config});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome;
  };
  CHECK(made(", \"torch_dtype\": \"bfloat16\"").err.empty());
  CHECK(has(made("").out, "# Note: no dtype is in the file; weights count as bf16."));
  CHECK(has(made(", \"dtype\": \"float\\u001b[31m32\"").err,
            "note: dtype: float\\x1b[31m32 is not taken over; weights count as bf16"));
  CHECK(has(made(", \"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": "
                 "[128, 128]}")
                .out,
            "quantization_config: fp8 is not taken over, so scales and smaller weights are not "
            "counted: say precision: fp8_blockwise"));
}

TEST_CASE("import nemo: no file of the chain is overwritten", "[cli][import]") {
  const Folder folder;
  const std::string text = text_of(kExamples + "grpo_base.yaml");
  const std::string base = folder.write("grpo_base.yaml", text);
  const std::string recipe = folder.write("r.yaml", text_of(kExamples + "grpo_qwen3_30b.yaml"));
  const Outcome outcome =
      refit_program({"import", "nemo", recipe, "--cluster", "dgx_h100", "-o", base});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "would overwrite the input"));
  CHECK((text_of(base) == text));
}

TEST_CASE("import: what a file writes into a message is short and can't steer the terminal",
          "[cli][import]") {
  const Folder folder;
  const std::string config =
      folder.write("config.json", "{\"architectures\": [\"A\\u001b]0;x\\u0007" +
                                      std::string(1 << 16, 'b') + "\"]}\n");
  const Outcome outcome = refit_program({"import", "hf-config", config});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "'A\\x1b]0;x\\x07bbb"));
  CHECK(outcome.err.find('\x1b') == std::string::npos);
  CHECK(outcome.err.size() < 2000);
}

TEST_CASE("import: layouts that are not legal are written, and said with exit 1", "[cli][import]") {
  const Folder folder;
  const Outcome outcome = refit_program({"import", "areal", kExamples + "allocation.txt",
                                         "--cluster", "dgx_h100", "--model", "qwen3-30b-a3b",
                                         "--set", "training.expert=3", "-o", folder / "s.yaml"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "not legal, as refit check will say"));
  CHECK(has(text_of(folder / "s.yaml"), "expert: 3  # --set"));
}

TEST_CASE("simulate: a question comes from a scenario or from a recipe", "[cli][import]") {
  const Outcome none = refit_program({"simulate"});
  CHECK(none.code == 2);
  CHECK(has(none.err, "SCENARIO is required"));
  const Outcome both = refit_program({"simulate", "x.yaml", "--nemo", "y.yaml"});
  CHECK(both.code == 2);
  CHECK(has(both.err, "SCENARIO and --nemo both ask a question"));
  const Outcome stray = refit_program({"simulate", "x.yaml", "--override", "a=1"});
  CHECK(stray.code == 2);
  CHECK(has(stray.err, "complete a recipe of --nemo"));
}

}  // namespace
}  // namespace refit
