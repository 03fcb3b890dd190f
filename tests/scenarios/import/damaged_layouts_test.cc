// Texts that are cut off, changed or made of noise: a reader reads them or complains with a
// message.
#include <functional>
#include <random>

#include "models/import/model_file.h"
#include "models/import/tensor_model.h"
#include "scenarios/import/areal.h"
#include "scenarios/import/m2n_system.h"
#include "scenarios/import/megatron_args.h"
#include "scenarios/import/nemo_rl.h"
#include "scenarios/import/verl.h"
#include "tests/scenarios/import/import_test.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace refit::test {
namespace {

// What is written of a file that could be read is YAML.
void write_of(char format, const std::string& text) {
  const std::string bytes = format + text;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

struct Reader {
  const char* name;
  std::string good;
  std::function<void(const std::string&)> read;
};

void read_recipe(const std::string& text) {
  HydraConfig recipe = HydraConfig::parse(text, "x");
  read_nemo_rl(recipe, "x");
}

std::vector<Reader> readers() {
  return {
      {"nemo",
       "policy: {model_name: a, precision: bfloat16, megatron_cfg: {enabled: true, "
       "tensor_model_parallel_size: '${mul:2,${cluster.num_nodes}}', env_vars: {A: 1}}, "
       "generation: "
       "{backend: vllm, vllm_cfg: {tensor_parallel_size: 2}, colocated: {enabled: false, "
       "resources: "
       "{num_nodes: 1}}}}\ncluster: {num_nodes: 2, gpus_per_node: 8}\n",
       read_recipe},
      {"megatron",
       "A=(--num-layers 61 '--moe-layer-freq' ([0]*3+[1]*58) --tensor-model-parallel-size ${TP:-8} "
       "--actor-num-nodes 2 --colocate --rollout-num-gpus-per-engine \"8\")\nrun ${A[@]} "
       "$(nproc)\n",
       [](const std::string& text) { read_megatron_args(text, "x", {}); }},
      {"verl",
       "trainer.nnodes=2 +actor_rollout_ref.actor.megatron.a.b=[1,2] "
       "actor_rollout_ref.rollout.name=vllm ~actor_rollout_ref.actor.megatron.a "
       "actor_rollout_ref.rollout.tensor_model_parallel_size='${trainer.nnodes}'\n",
       [](const std::string& text) { read_verl(text, "x", {}); }},
      {"areal", "sglang:d4p1t4+megatron:(attn:d1p4t2c2|ffn:d1p4t2e2)\n",
       [](const std::string& text) { read_areal(text, "x"); }},
      {"m2n system",
       "{\"train\": {\"num_gpus\": 8, \"pp_size\": 2}, \"generation\": {\"num_gpus\": 4}}",
       [](const std::string& text) { read_m2n_system(text, "x", {}); }},
      {"m2n model",
       "{\"model.layers.0.mlp.experts.0.up_proj.weight\": {\"shape\": [4, 8], \"dtype\": "
       "\"BF16\"}, "
       "\"model.norm.weight\": {\"shape\": [8], \"dtype\": \"F32\"}}",
       [](const std::string& text) { parse_m2n_model(text, "x"); }},
      {"index",
       "{\"metadata\": {\"total_size\": 12}, \"weight_map\": {\"a.b\": \"x.safetensors\"}}",
       [](const std::string& text) { parse_checkpoint_index(text, "x"); }},
      {"words", "+a.b=[1,{c: d}]",
       [](const std::string& text) { HydraConfig().apply(text, false); }},
  };
}

// In the order of layouts_fuzz.cc.
const char* const kFormats[] = {"nemo", "megatron", "verl", "areal", "m2n system"};

// Nothing but our own complaint, and never an empty one.
void read_or_complain(const Reader& reader, const std::string& text) {
  try {
    reader.read(text);
  } catch (const Error& error) {
    if (std::string(error.what()).size() < 8) FAIL(reader.name << ": '" << error.what() << "'");
  }
  for (std::size_t format = 0; format < 5; ++format) {
    if (std::string(reader.name) == kFormats[format]) write_of(static_cast<char>(format), text);
  }
}

TEST_CASE("layout files that are cut off anywhere are read or refused", "[scenarios][import]") {
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    reader.read(reader.good);
    for (std::size_t size = 0; size < reader.good.size(); ++size)
      read_or_complain(reader, reader.good.substr(0, size));
  }
}

TEST_CASE("layout files with changed and random bytes are read or refused", "[scenarios][import]") {
  const unsigned seed = 20'261;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string marks = "{}[]()$:,.\"'\\#=+~|-\n 0919*%&\xff\x01";
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    for (int round = 0; round < 300; ++round) {
      std::string text = reader.good;
      for (auto changes = 1 + random() % 6; changes > 0; --changes) {
        const std::size_t at = random() % text.size();
        const char mark = marks[random() % marks.size()];
        if (random() % 3 == 0) {
          text.insert(at, 1, mark);
        } else {
          text[at] = mark;
        }
      }
      read_or_complain(reader, text);
      std::string noise(random() % 80, '\0');
      for (char& c : noise)
        c = random() % 2 ? marks[random() % marks.size()] : static_cast<char>(random());
      read_or_complain(reader, noise);
    }
  }
}

TEST_CASE("layout files with endless nesting or repetition end", "[scenarios][import]") {
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    for (const char* piece :
         {"(", "[", "{", "${", "$(", "\"", "--a ", "a.", "a=(", "+", "[0]*9+", "d9"}) {
      std::string text;
      for (int i = 0; i < 20'000; ++i) text += piece;
      read_or_complain(reader, text);
      read_or_complain(reader, reader.good + text);
    }
  }
}

}  // namespace
}  // namespace refit::test
