// A refit whose values change on the way: check, simulate and run all say so.
#include <string>

#include "tests/cli/program.h"

namespace refit {
namespace {

// Any model that is small: Qwen3-8B's shape in tiny, FP32 trainers and BF16 engines.
const char* const kCastScenario =
    "scenario: cast\n"
    "cluster: {catalog: dgx_h100, nodes: 1}\n"
    "model: tiny.json\n"
    "training: {engine: fsdp, gpus: 2, precision: fp32}\n"
    "generation: {engine: vllm, gpus: 2}\n";
const char* const kModel =
    R"({"architectures": ["Qwen3ForCausalLM"], "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 4,
        "vocab_size": 64, "tie_word_embeddings": true})";

// Embedding 64 * 8, q, k, v and o 8 * 8 each, q and k norm 4 each, two norms and the last of 8, and
// three projections of 16 * 8: 1,184 elements in 13 tensors, 4 B each before and 2 B after; the
// shards of the two trainers make one copy.
const char* const kCast =
    "source: cast (f32 to bf16), 13 tensors, 4.74 kB read and 2.37 kB written";

}  // namespace

TEST_CASE("check, simulate and run say which values change on the way", "[cli]") {
  Folder folder;
  folder.write("tiny.json", kModel);
  const std::string scenario = folder.write("cast.yaml", kCastScenario);

  const Outcome check = refit_program({"check", scenario, "--strategy", "direct"});
  CAPTURE(check.out, check.err);
  CHECK(check.code == 0);
  CHECK(has(check.out, std::string("  converts at the ") + kCast));

  const Outcome simulate = refit_program({"simulate", scenario, "--strategy", "direct"});
  CAPTURE(simulate.out, simulate.err);
  CHECK(simulate.code == 0);
  CHECK(has(simulate.out, std::string("converts     ") + kCast));

  const Outcome run = refit_program({"run", scenario, "-n", "1", "-w", "0"});
  CAPTURE(run.out, run.err);
  CHECK(run.code == 0);
  CHECK(has(run.out, "# conversions: 1 kind not executed"));
  CHECK(has(run.out, "# wrong bytes, warm-up included: 0"));
}

}  // namespace refit
