#include "scenarios/import/megatron_args.h"

#include "base/yaml.h"
#include "scenarios/import/shell_words.h"
#include "scenarios/import/sourced_script.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/import/import_test.h"

namespace refit::test {
namespace {

std::string words_of_text(const std::string& text) {
  std::string words;
  for (const ShellWord& word : shell_words(text, "x")) words += "<" + word.text + ">";
  return words;
}

Imported read(const std::string& text, const ImportAnswers& answers = {}) {
  return read_megatron_args(text, "run.sh", answers);
}

// Qwen3-30B-A3B as flags: 48 layers, all with experts.
const std::string kQwen =
    "--num-layers 48 --hidden-size 2048 --num-attention-heads 32 --num-query-groups 4\n"
    "--vocab-size 151936 --num-experts 128 --moe-ffn-hidden-size 768\n"
    "--moe-layer-freq [0]*0+[1]*48\n";

TEST_CASE("shell: words without comments, quotes and line ends", "[scenarios][import]") {
  CHECK(words_of_text("a 'b c' \"d e\" # gone\nf\\\ng h#i") == "<a><b c><d e><fg><h#i>");
  CHECK(words_of_text("TP=8\npython x --tp $TP --pp ${PP:-4} --cp ${CP} '$TP' \"$TP\"") ==
        "<TP=8><python><x><--tp><8><--pp><4><--cp><${CP}><$TP><8>");
  CHECK(words_of_text("ARGS=(\n  --a 1  # one\n  --f ([0]*3+[1]*2)\n)\nrun ${ARGS[@]}") ==
        "<--a><1><--f><([0]*3+[1]*2)><run>");
  CHECK(words_of_text("n=$((2 * 3)) m=$(nproc)") == "<n=6><m=$(nproc)>");
  // Flags in one text are words where it is used.
  CHECK(words_of_text("A=\"--a 1 \\\n --b 2\"\nrun $A \"$A\" B=$A") ==
        "<A=--a 1  --b 2><run><--a><1><--b><2><--a 1  --b 2><B=--a 1  --b 2>");
  // A default has quotes and variables of its own; it stands for an empty value, too.
  CHECK(words_of_text("A=1 B= ${X:-${Y:-\"$A/b\"}} ${B:-2} ${A:-3} ${Z-4}") ==
        "<A=1><B=><1/b><2><1><4>");
  CHECK(shell_words("a\n\nb", "x")[1].line == 3);
}

TEST_CASE("shell: variables do not fill the memory", "[scenarios][import]") {
  // Two words of 32 KiB made one of 64 KiB, and each "$b" another, without end.
  const std::string text = "a=" + std::string(1 << 15, 'x') + "\nb=$a$a\n";
  const auto words_with = [&](int times) {
    std::string more = text;
    for (int i = 0; i < times; ++i) more += "$b\n";
    return shell_words(more, "s.sh").size();
  };
  // 32 KiB + 64 KiB + 1021 x (64 KiB - 2 bytes + 40 of a word) are below 64 MiB.
  CHECK(words_with(1021) == 1023);
  CHECK(error_in([&] { words_with(1100); }) ==
        "s.sh:1024: with variables the words take more than 64 MiB; take out what is no command");
}

TEST_CASE("shell: sums are worked out where all of them is known", "[scenarios][import]") {
  const std::string set = "A=3\nB=75\nC='A + B'\n";
  const auto sum = [&](const std::string& inside) {
    const std::string all = words_of_text(set + "$((" + inside + "))");
    return all.substr(all.rfind('<'));
  };
  CHECK(sum("A + $B") == "<78>");
  CHECK(sum("${A}*-(2+B)") == "<-231>");
  CHECK(sum("C * 2") == "<156>");  // a variable's text is an expression of its own
  CHECK(sum("7 / 2 * 2 % 4") == "<2>");
  for (const char* open :
       {"A + D", "A / 0", "A +", "010", "1 2", "A & 1", "$(nproc) * 8", "", "${A"})
    CHECK(sum(open) == "<$((" + std::string(open) + "))>");
  CHECK(sum("9223372036854775807 + 1") == "<$((9223372036854775807 + 1))>");
  // Names that stand for two of the next one each would take 2^40 steps.
  std::string doubling = "X0=1\n";
  for (int i = 1; i <= 40; ++i) doubling += fmt::format("X{}='X{} + X{}'\n", i, i - 1, i - 1);
  CHECK(words_of_text(doubling + "$((X40))").ends_with("<$((X40))>"));
  CHECK(words_of_text("L=L\n$((L))").ends_with("<$((L))>"));
}

TEST_CASE("shell: a long text that is used often is no endless list of words",
          "[scenarios][import]") {
  std::string text = "A=\"";
  for (int i = 0; i < 5'000; ++i) text += "x ";
  text += "\"\n";
  for (int i = 0; i < 400; ++i) text += "$A ";
  CHECK(error_in([&] { shell_words(text, "s.sh"); }) ==
        "s.sh:2: with variables the words take more than 64 MiB; take out what is no command");
}

TEST_CASE("shell: a script that reads another has its words and variables", "[scenarios][import]") {
  const Files files;
  files.write("models/m.sh", "LAYERS=5\nMODEL_ARGS=(\n --num-layers $LAYERS\n)\n");
  files.write("n.sh", "--hidden-size 64\n");
  const std::string run = files.write("run.sh", "");
  std::vector<std::string> missing;
  const auto words = [&](const std::string& text) {
    std::string all;
    for (const ShellWord& word : shell_words(text, run, sourced_beside(run, missing)))
      all += fmt::format("<{}:{}>", word.line, word.text);
    return all;
  };
  CHECK(words("D=\"$(cd -- \"$(dirname x)\" && pwd)\"\nsource \"${D}/models/m.sh\"\n--x $LAYERS") ==
        "<1:D=$(cd -- \"$(dirname x)\" && pwd)><2:source>"
        "<2:$(cd -- \"$(dirname x)\" && pwd)/models/m.sh><2:LAYERS=5><2:--num-layers><2:5>"
        "<3:--x><3:5>");
  CHECK(words(". $HERE/n.sh\n") == "<1:.><1:$HERE/n.sh><1:--hidden-size><1:64>");
  CHECK(words("echo . n.sh") == "<1:echo><1:.><1:n.sh>");  // no command
  CHECK(missing.empty());
  words("source /nowhere/else.sh");
  CHECK(missing == std::vector<std::string>{"/nowhere/else.sh"});
  // A script that reads itself ends.
  const std::string self = files.write("self.sh", "source self.sh\n");
  CHECK(!words("source self.sh").empty());

  const Imported out = load_megatron_args(
      "source $D/models/m.sh\nsource gone.sh\n--hidden-size 64 --world-size 8", run, {});
  CHECK(says(out.left_out, "source gone.sh: not found beside this script"));
  CHECK_THAT(error_in([&] {
               load_megatron_args("source $D/models/m.sh\n--moe-layer-freq [1]*4", run, {});
             }),
             Catch::Contains("has 4 entries, but there are 5 layers"));
}

TEST_CASE("Megatron: lists of layers with experts are multiplied out", "[scenarios][import]") {
  const auto text_of = [](const std::string& freq, int layers) {
    std::string text;
    for (const bool has : read_moe_layer_freq(freq, layers)) text += has ? '1' : '0';
    return text;
  };
  CHECK(text_of("[0]*3+[1]*5", 8) == "00011111");
  CHECK(text_of("([0]*1+[1]*2)", 3) == "011");
  CHECK(text_of("'[0,1]*2'", 4) == "0101");
  CHECK(text_of("2", 5) == "10101");
  CHECK(text_of("[0]*0+[1]*2", 2) == "11");
  CHECK_THAT(error_in([] { read_moe_layer_freq("[0]*3+[1]*75", 61); }),
             Catch::Contains("has more entries than the 61 layers"));
  CHECK_THAT(error_in([] { read_moe_layer_freq("[1]*999999999", 61); }),
             Catch::Contains("more entries"));
  CHECK_THAT(error_in([] { read_moe_layer_freq("[1]*60", 61); }),
             Catch::Contains("has 60 entries, but there are 61 layers"));
  for (const char* bad : {"", "[2]*3", "[0]*3+", "[0", "x", "0", "[0]3"})
    CHECK_THAT(error_in([&] { read_moe_layer_freq(bad, 3); }), Catch::Contains("got '"));
}

TEST_CASE("Megatron: flags alone are one side, the other is asked for", "[scenarios][import]") {
  const Imported out =
      read(kQwen + "--tensor-model-parallel-size=4 --nnodes 2 --nproc_per_node 8\n");
  CHECK(keys_in(out.model) == "name=qwen3-30b-a3b");
  // Megatron cuts experts like the rest unless told otherwise.
  CHECK(keys_in(out.training) ==
        "engine=megatron tensor=4 expert_tensor=4 vocab_padding=megatron gpus=16");
  // 128 x 4 = 512 rows: 151,936 is 296.75 of them, so 297 are held.
  CHECK(find_key(out.training, "vocab_padding")->source ==
        "Megatron's default of 128: 151,936 rows are held as 152,064");
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  CHECK_THAT(error_in([&] { scenario_text(out, answers); }),
             Catch::Contains("the Megatron flags do not say, and nobody should guess") &&
                 Catch::Contains("generation.engine: Megatron's flags are of training") &&
                 Catch::Contains("say --set generation.gpus=..."));
  answers.set = {"generation.engine=vllm", "generation.gpus=8", "generation.tensor=2"};
  const Scenario scenario = parse_scenario(scenario_text(out, answers), "s.yaml");
  CHECK(scenario.generation->gpus == 8);
  CHECK(scenario.training->expert_tensor == 4);
}

TEST_CASE("Megatron: stages, padding, order and precision have their flags",
          "[scenarios][import]") {
  const Imported out =
      read(kQwen +
           "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "
           "--expert-tensor-parallel-size 1 "
           "--decoder-first-pipeline-num-layers 11 --decoder-last-pipeline-num-layers 13 "
           "--make-vocab-size-divisible-by 64 --use-tp-pp-dp-mapping --world-size 32 "
           "--fp8-param-gather --fp8-recipe blockwise --mtp-num-layers 1\n");
  CHECK(keys_in(out.training) ==
        "engine=megatron tensor=2 pipeline=4 expert_tensor=1 order=tp-cp-ep-pp-dp "
        "first_stage_layers=11 last_stage_layers=13 vocab_padding=64 precision=fp8_blockwise "
        "gpus=32");
  CHECK(keys_in(out.model) == "name=qwen3-30b-a3b mtp=true");
  // 48 layers on 4 stages in chunks of 3: 4 chunks a stage.
  CHECK(integer_key(read(kQwen + "--pipeline-model-parallel-size 4 --world-size 8 "
                                 "--num-layers-per-virtual-pipeline-stage 3")
                        .training,
                    "virtual_pipeline") == 4);
}

TEST_CASE("Megatron: the model that is named must have the numbers", "[scenarios][import]") {
  ImportAnswers answers;
  answers.model = "qwen3-235b-a22b";
  CHECK(
      error_in([&] { read(kQwen, answers); }) ==
      "run.sh: qwen3-235b-a22b is not the model of these flags: --num-layers is 48, but the model "
      "has 94");
  CHECK(read("--num-layers 7 --hidden-size 64").model.empty());
}

// DeepSeek-V3's latent attention, as Megatron's flags have it.
const std::string kLatent =
    "--num-layers 61 --hidden-size 7168 --num-experts 256 --multi-latent-attention "
    "--q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 "
    "--v-head-dim 128 --kv-channels 128 --ffn-hidden-size 18432 --moe-ffn-hidden-size 2048 "
    "--moe-shared-expert-intermediate-size 2048 --moe-router-enable-expert-bias --qk-layernorm "
    "--untie-embeddings-and-output-weights --world-size 8 ";

TEST_CASE("Megatron: flags of a model's shapes are the model's, and must fit it",
          "[scenarios][import]") {
  ImportAnswers answers;
  answers.model = "deepseek-v3";
  CHECK(read(kLatent, answers).left_out.empty());
  CHECK(find_key(read(kLatent).model, "name")->value == "deepseek-r1");  // or V3: the same numbers
  const auto wrong = [&](const std::string& more) {
    const std::string text = error_in([&] { read(kLatent + more, answers); });
    return text.substr(text.find("flags: ") + 7);
  };
  CHECK(wrong("--q-lora-rank 1024") == "--q-lora-rank is 1024, but the model has 1536");
  CHECK(wrong("--kv-lora-rank 256") == "--kv-lora-rank is 256, but the model has 512");
  CHECK(wrong("--qk-head-dim 64") == "--qk-head-dim is 64, but the model has 128");
  CHECK(wrong("--qk-pos-emb-head-dim 32") == "--qk-pos-emb-head-dim is 32, but the model has 64");
  CHECK(wrong("--v-head-dim 64") == "--v-head-dim is 64, but the model has 128");
  CHECK(wrong("--ffn-hidden-size 1") == "--ffn-hidden-size is 1, but the model has 18432");
  CHECK(wrong("--moe-shared-expert-intermediate-size 4096") ==
        "--moe-shared-expert-intermediate-size is 4096, but the model has 2048");
  CHECK(wrong("--moe-latent-size 64") == "--moe-latent-size is 64, but the model has none");
  CHECK(read(kLatent + "--add-qkv-bias", answers).left_out.empty());  // Megatron ignores it here
  CHECK(wrong("--attention-output-gate") ==
        "--attention-output-gate is there, but the model has no gate of its attention");
  CHECK(wrong("--moe-shared-expert-gate") ==
        "--moe-shared-expert-gate is there, but the model has no gate of its shared expert");

  answers.model = "qwen3-30b-a3b";
  CHECK_THAT(error_in([&] { read(kQwen + "--multi-latent-attention --world-size 8", answers); }),
             Catch::Contains("--multi-latent-attention is there, but the model has no latent"));
  CHECK_THAT(error_in([&] { read(kQwen + "--kv-channels 64 --world-size 8", answers); }),
             Catch::Contains("--kv-channels is 64, but the model has 128"));
  CHECK_THAT(error_in([&] { read(kQwen + "--add-qkv-bias --world-size 8", answers); }),
             Catch::Contains("--add-qkv-bias is there, but the model has no bias of q, k and v"));
  // Ranks of low-rank projections say nothing where attention has none.
  CHECK(read(kQwen + "--q-lora-rank 1536 --kv-channels 128 --qk-layernorm --world-size 8", answers)
            .left_out.empty());
  // Without a width of their own experts have that of other networks.
  CHECK_THAT(error_in([&] {
               read("--num-layers 48 --hidden-size 2048 --num-experts 128 --ffn-hidden-size 6144",
                    answers);
             }),
             Catch::Contains("--moe-ffn-hidden-size is 6144, but the model has 768"));
}

TEST_CASE("Megatron: a number of the model that the script leaves open is not compared",
          "[scenarios][import]") {
  const Imported out = read(
      "--num-layers 48 --hidden-size 2048 --num-experts 128 --moe-ffn-hidden-size 768 "
      "--moe-layer-freq \"$FREQ\" --world-size 8\n");
  CHECK(keys_in(out.model) == "name=qwen3-30b-a3b");
  CHECK(says(out.left_out, "--moe-layer-freq is $FREQ, which the file does not set; not compared"));
}

TEST_CASE("slime: colocated rollouts, and defaults that are said", "[scenarios][import]") {
  const Imported out = read(kQwen +
                            "--actor-num-nodes 2 --colocate --rollout-num-gpus-per-engine 8 "
                            "--sglang-ep-size 8 --expert-model-parallel-size 8\n");
  CHECK(out.format == "slime or miles flags");
  CHECK(keys_in(out.generation) == "engine=sglang gpus=16 first_gpu=0 tensor=8 expert=8");
  CHECK(*integer_key(out.training, "gpus") == 16);  // 2 nodes of 8, which is the default
  CHECK(says(out.assumptions, "no --actor-num-gpus-per-node: slime takes 8"));
}

TEST_CASE("slime: attention data parallelism is inside one engine", "[scenarios][import]") {
  const Imported out = read(
      "--num-layers 61 --hidden-size 7168 --tensor-model-parallel-size 8 "
      "--actor-num-nodes 8 --actor-num-gpus-per-node 8 --colocate --rollout-num-gpus-per-engine 64 "
      "--sglang-ep-size 64 --sglang-enable-dp-attention --sglang-dp-size 8 "
      "--sglang-moe-dense-tp-size 1\n");
  CHECK(keys_in(out.generation) ==
        "engine=sglang gpus=64 first_gpu=0 tensor=64 expert=64 attention_data=8 dense_tensor=1");
  // Without the switch, dp-size means more engines.
  const Imported apart = read(
      "--num-layers 61 --actor-num-nodes 1 --colocate --rollout-num-gpus-per-engine 4 "
      "--sglang-dp-size 2\n");
  CHECK(find_key(apart.generation, "attention_data") == nullptr);
  CHECK(says(apart.left_out, "without --sglang-enable-dp-attention"));
}

TEST_CASE("slime: GPUs of generation that nobody says are asked for", "[scenarios][import]") {
  const Imported out =
      read("--num-layers 4 --actor-num-nodes 16 --rollout-num-gpus-per-engine 16\n");
  CHECK(says(out.asked, "generation.gpus: neither --colocate nor --rollout-num-gpus"));
  const Imported said = read(
      "--num-layers 4 --actor-num-nodes 2 --rollout-num-gpus 32 --rollout-num-gpus-per-engine "
      "16\n");
  CHECK(*integer_key(said.generation, "gpus") == 32);
  CHECK(said.nodes == 6);  // 2 train, 32 GPUs are 4 nodes of 8
}

TEST_CASE("slime: without numbers the checkpoint's name says the model", "[scenarios][import]") {
  const std::string flags = "--actor-num-nodes 1 --colocate --hf-checkpoint ";
  CHECK(keys_in(read(flags + "/models/Qwen3-8B/").model) == "name=qwen3-8b");
  CHECK(keys_in(read(flags + "$BASE_DIR/Qwen3-8B").model) == "name=qwen3-8b");
  CHECK(read(flags + "/models/Mine-8B").model.empty());
  // Numbers count for more than a name.
  CHECK(read(flags + "/models/Qwen3-8B --num-layers 5 --hidden-size 64").model.empty());
}

TEST_CASE("Megatron: a variable that the script leaves open is asked for", "[scenarios][import]") {
  const Imported out = read("--num-layers 4 --world-size 8 --tensor-model-parallel-size ${TP}\n");
  CHECK(
      says(out.asked,
           "training.tensor: --tensor-model-parallel-size is ${TP}, which the file does not set"));
}

TEST_CASE("Megatron: wrong values are named with their line", "[scenarios][import]") {
  CHECK(error_in([] { read("--num-layers 4\n--tensor-model-parallel-size eight\n"); }) ==
        "run.sh:2: --tensor-model-parallel-size: expected an integer from 1 to 1000000, got "
        "'eight'");
  CHECK_THAT(error_in([] { read("--num-layers\n"); }), Catch::Contains("expected a value"));
  CHECK_THAT(error_in([] { read("ls -l\n"); }), Catch::Contains("no flags of Megatron in it"));
  CHECK(says(read("--num-layers 4 --world-size 8 --new-expert-parallel 3\n").left_out,
             "--new-expert-parallel 3 (line 1): not understood"));
}

TEST_CASE("Megatron: what is written of a script is YAML, whatever bytes it has",
          "[scenarios][import]") {
  // Half a surrogate pair, an overlong letter, a code point beyond Unicode: their leading bits are
  // those of UTF-8, so they were copied into comments, which YAML refuses.
  const std::string slime =
      "--num-layers 4 --actor-num-nodes 2 --colocate --rollout-num-gpus-per-engine 8 ";
  ImportAnswers answers;
  answers.cluster = "dgx_h100";
  answers.model = "m.json";
  for (const char* bytes : {"\xed\xa0\x80", "\xe0\x81\x81", "\xf4\x90\x80\x80", "\xff", "\x04"}) {
    Imported out = read(slime + "--new-expert-parallel " + bytes);
    out.title = out.file = bytes;
    out.assumptions.push_back(bytes);
    std::string text;
    REQUIRE_NOTHROW(text = scenario_text(out, answers));
    REQUIRE_NOTHROW(YamlNode::parse_text(text, "written").at("training"));
  }
  const Imported out = read(slime + "--new-expert-parallel \xc3\xa9\xed\xa0\x80");
  REQUIRE(says(out.left_out, "--new-expert-parallel"));
  CHECK_THAT(scenario_text(out, answers),
             Catch::Contains("#   --new-expert-parallel \xc3\xa9\\xed\\xa0\\x80 (line 1): not"));
}

}  // namespace
}  // namespace refit::test
