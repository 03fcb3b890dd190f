// Files of people who train with such frameworks, and what a reader must get right of each.
#include <fstream>
#include <functional>
#include <sstream>

#include "base/yaml.h"
#include "models/import/model_file.h"
#include "scenarios/import/areal.h"
#include "scenarios/import/m2n_system.h"
#include "scenarios/import/megatron_args.h"
#include "scenarios/import/nemo_rl.h"
#include "scenarios/import/verl.h"
#include "scenarios/layout_error.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/import/import_test.h"
#include "tests/support/cases.h"

namespace refit::test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns(1);
  for (const char c : line) {
    if (c == ',') {
      columns.emplace_back();
    } else if (c != '\r') {
      columns.back() += c;
    }
  }
  return columns;
}

std::string value_of(const ImportedPart& part, const char* key, const char* otherwise) {
  const ImportedKey* found = find_key(part, key);
  return found == nullptr ? otherwise : found->value;
}

std::string quotient(std::int64_t a, std::int64_t b) {
  return a % b == 0 ? fmt::format("{}", a / b) : "uneven";
}

// The row of the table that the reader would write.
std::string row_of(const Imported& out) {
  const ImportedPart& t = out.training;
  const ImportedPart& g = out.generation;
  const auto t_of = [&](const char* key) { return integer_key(t, key).value_or(1); };
  const auto g_of = [&](const char* key) { return integer_key(g, key).value_or(1); };
  const std::string engine = value_of(t, "engine", "");
  const bool megatron = engine == "megatron";
  std::string row =
      fmt::format("{}|{}|{}|", megatron ? "megatron" : "dtensor", *out.nodes, *out.gpus_per_node);
  row += out.segment_nodes ? fmt::format("{}|", *out.segment_nodes) : "|";
  row += find_key(g, "first_gpu") ? "True|" : "False|";
  row += fmt::format("{}|{}|{}|{}|{}|", t_of("gpus"), t_of("tensor"), t_of("context"),
                     t_of("pipeline"), t_of("expert"));
  row += megatron ? fmt::format("{}|", t_of("expert_tensor")) : "|";
  row += value_of(t, "first_stage_layers", "") + "|" + value_of(t, "last_stage_layers", "") + "|";
  row += quotient(t_of("gpus"), t_of("tensor") * t_of("context") * t_of("pipeline")) + "|";
  row +=
      megatron
          ? quotient(t_of("gpus"), t_of("pipeline") * t_of("expert") * t_of("expert_tensor")) + "|"
          : "|";
  row += value_of(g, "engine", "") + "|" + value_of(g, "gpus", "") + "|";
  const std::int64_t g_ep = g_of("data") * (find_key(g, "expert_parallel") ? g_of("tensor") : 1);
  row += fmt::format("{}|{}|{}|", g_of("tensor"), g_of("pipeline"),
                     value_of(g, "engine", "") == "megatron" ? g_of("expert") : g_ep);
  row += quotient(g_of("gpus"), g_of("tensor") * g_of("pipeline")) + "|";
  row += find_key(g, "precision") ? "fp8" : "same as policy";
  return row;
}

std::string expected_row(const std::vector<std::string>& c) {
  std::string row = c[3];
  for (std::size_t i = 4; i <= 24; ++i) row += "|" + c[i];
  return row;
}

// What the reader cannot know is answered here: machines of that size, and a model where the recipe
// only points to a guide.
std::string as_scenario(const Imported& out, std::vector<std::string> set = {}) {
  ImportAnswers answers;
  answers.cluster = out.gpus_per_node == 4 ? "gb200_nvl72" : "dgx_h100";
  if (find_key(out.model, "name") == nullptr) answers.model = "deepseek-v3";
  answers.set = std::move(set);
  return scenario_text(out, answers);
}

TEST_CASE("cases: every NeMo RL recipe resolves to the layouts of the table", "[cases]") {
  const auto folder = cases_folder("nemo_rl_recipes");
  if (!folder) return;
  std::istringstream table(text_of(*folder + "/resolved_layouts.csv"));
  std::string line;
  std::getline(table, line);
  int rows = 0;
  while (std::getline(table, line)) {
    const std::vector<std::string> columns = columns_of(line);
    CAPTURE(columns[0]);
    REQUIRE(columns.size() == 26);
    const Imported out = load_nemo_rl(*folder + "/configs/" + columns[0], {});
    CHECK(row_of(out) == expected_row(columns));
    const bool has_model = find_key(out.model, "name") != nullptr;
    CHECK(has_model == (columns[1].find('(') == std::string::npos));
    if (has_model) CHECK(find_key(out.model, "name")->source == "policy.model_name: " + columns[1]);
    CHECK(says(out.assumptions, columns[25].empty() ? "refit_transport is null" : columns[25]));
    const Scenario scenario = parse_scenario(as_scenario(out), columns[0]);
    CHECK(fmt::format("{}", scenario.training->gpus) == columns[8]);
    CHECK(fmt::format("{}", scenario.generation->tensor) == columns[20]);
    for (const std::string& note : out.left_out) UNSCOPED_INFO(note);
    ++rows;
  }
  CHECK(rows >= 31);
}

TEST_CASE("cases: flags of slime are legal scenarios, or ask for what they do not say", "[cases]") {
  const auto folder = cases_folder("megatron_args");
  if (!folder) return;
  const auto read = [&](const std::string& name) {
    return read_megatron_args(text_of(*folder + "/" + name), name, {});
  };
  Imported out = read("deepseek-r1-16n8g.args");
  CHECK(find_key(out.model, "name")->value == "deepseek-r1");
  CHECK(keys_in(out.training) ==
        "engine=megatron tensor=8 pipeline=4 context=4 expert=32 expert_tensor=1 "
        "last_stage_layers=13 vocab_padding=megatron gpus=128");
  CHECK(keys_in(out.generation) ==
        "engine=sglang gpus=128 first_gpu=0 tensor=64 expert=64 attention_data=8 dense_tensor=1");
  parse_scenario(as_scenario(out), "deepseek-r1");
  out = read("qwen3-235b-8n8g.args");
  CHECK(find_key(out.model, "name")->value == "qwen3-235b-a22b");
  // 94 layers, the last stage 22: three stages of 24.
  CHECK(parse_scenario(as_scenario(out), "qwen3").training->context == 2);
  out = read("minimax-m2-16n.args");
  CHECK(find_key(out.model, "name")->value == "minimax-m2");
  CHECK(says(out.asked, "generation.gpus"));
  CHECK(says(out.assumptions, "slime takes 8"));
  // 200,064 rows are 781.5 times 128 x 2.
  CHECK_THAT(find_key(out.training, "vocab_padding")->source,
             Catch::Contains("200,064 rows are held as 200,192"));
  parse_scenario(as_scenario(out, {"generation.gpus=64"}), "minimax");
  out = read("qwen3.5-35b-a3b.args");
  CHECK(find_key(out.model, "name")->value == "qwen3.5-35b-a3b");
  CHECK(says(out.asked, "training.gpus"));
}

TEST_CASE("cases: overrides of verl", "[cases]") {
  const auto folder = cases_folder("verl");
  if (!folder) return;
  ImportAnswers answers;
  answers.set = {"generation.engine=vllm"};
  const auto read = [&](const std::string& name) {
    return read_verl(text_of(*folder + "/" + name), name, answers);
  };
  Imported out = read("verl-deepseek-v3-12n8g.overrides");
  CHECK(keys_in(out.training) ==
        "gpus=96 engine=megatron tensor=8 pipeline=12 context=1 expert=8 expert_tensor=1 "
        "last_stage_layers=6");
  // 61 - 6 layers on 11 stages: 5 each.
  parse_scenario(as_scenario(out, answers.set), "deepseek");
  out = read("verl-qwen3-235b-8n8g.overrides");
  CHECK(keys_in(out.generation) == "gpus=64 first_gpu=0 tensor=8 data=8 expert_parallel=true");
  // No expert_tensor: Megatron takes 4, and 4 x 4 x 8 are more than 64 ranks; whole experts fit.
  CHECK(integer_key(out.training, "expert_tensor") == 4);
  CHECK_THROWS_AS(parse_scenario(as_scenario(out, answers.set), "qwen3"), Error);
  const Imported named = read("verl-qwen3-235b-8n8g.overrides");
  ImportAnswers whole = answers;
  whole.cluster = "dgx_h100";
  whole.model = "qwen3-235b-a22b";
  whole.set.emplace_back("training.expert_tensor=1");
  parse_scenario(scenario_text(named, whole), "qwen3");
}

TEST_CASE("cases: allocation strings of AReaL", "[cases]") {
  const auto folder = cases_folder("verl");
  if (!folder) return;
  const std::string text = text_of(*folder + "/areal-allocation-strings.txt");
  const std::vector<std::string> all = areal_allocations(text, "x");
  REQUIRE(all.size() >= 5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i]);
    ImportAnswers answers;
    answers.cluster = "dgx_h100";
    answers.model = "qwen3-30b-a3b";
    const Imported out = read_areal(text, "areal", static_cast<int>(i) + 1);
    parse_scenario(scenario_text(out, answers), all[i]);
  }
  CHECK(keys_in(read_areal(text, "areal", 5).training) ==
        "engine=megatron tensor=2 pipeline=4 context=2 expert=2 expert_tensor=2 gpus=16");
}

TEST_CASE("cases: system and model files of NCCL M2N", "[cases]") {
  const auto folder = cases_folder("m2n_bench");
  if (!folder) return;
  int systems = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    if (name.find(".model.") != std::string::npos || name.find("layer") != std::string::npos ||
        name == "moe.json")
      continue;
    ImportAnswers answers;
    answers.cluster = name.find("gb200") != std::string::npos ? "gb200_nvl72" : "dgx_h100";
    answers.model = name.starts_with("dsv3")       ? "deepseek-v3"
                    : name.starts_with("qwen235b") ? "qwen3-235b-a22b"
                                                   : "qwen3-32b";
    const Imported out = read_m2n_system(text_of(entry.path().string()), name, answers);
    parse_scenario(scenario_text(out, answers), name);
    ++systems;
  }
  CHECK(systems >= 9);
  ImportAnswers answers;
  answers.model = "deepseek-v3";
  const std::string big = "dsv3-256gpus-gb200.json";
  const Imported out = read_m2n_system(text_of(*folder + "/" + big), big, answers);
  CHECK(says(out.left_out, "EP16 DP2 PP4"));
  CHECK(says(out.left_out, "--gpus-per-node defaults to 8"));
  // 61 layers on 8 stages, layer l on l x 8 / 61.
  CHECK(find_key(out.training, "stage_layers")->value == "[8, 8, 7, 8, 8, 7, 8, 7]");

  const ModelSpec qwen = load_model(*folder + "/qwen3-32b.model.json");
  CHECK(qwen.bytes() == 65'524'246'528);
  CHECK(qwen.checkpoint_tensors() == 707);
  CHECK(qwen.heads == catalog_model("qwen3-32b").heads);
  const ModelSpec toy = load_model(*folder + "/dsv3-toy.model.json");
  CHECK(toy.checkpoint_tensors() == 1546);
  CHECK(toy.experts == 256);
}

TEST_CASE("cases: configurations of Hugging Face, and an index", "[cases]") {
  const auto folder = cases_folder("hf");
  if (!folder) return;
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    CAPTURE(entry.path().string());
    CHECK(load_model((entry.path() / "config.json").string()).parameters() > 1'000'000'000);
    ++read;
  }
  CHECK(read >= 7);
  const std::string index = *folder + "/wizardlm2-8x22b/model.safetensors.index.json";
  const CheckpointIndex listed = parse_checkpoint_index(text_of(index), index);
  CHECK(listed.names.size() == 1739);
  CHECK(listed.total_bytes == 281'241'268'224);
  CHECK(differences(listed, load_model(*folder + "/wizardlm2-8x22b/config.json")).empty());
  CHECK_FALSE(differences(listed, catalog_model("mixtral-8x7b")).empty());
}

}  // namespace
}  // namespace refit::test
