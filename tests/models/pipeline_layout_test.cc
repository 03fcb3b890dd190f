// Megatron's pipeline_model_parallel_layout.
#include <random>
#include <regex>

#include <catch2/catch.hpp>

#include "models/megatron_stages.h"
#include "tests/models/megatron_case.h"

namespace refit::test {
namespace {

ModelSpec model_with(int layers, bool mtp = false) {
  ModelSpec model = small_model(layers);
  if (mtp) {
    TensorSpec tensor;
    tensor.name = "mtp";
    tensor.mtp = true;
    model.tensors.push_back(tensor);
  }
  return model;
}

MegatronOptions written(const std::string& layout, int stages, int chunks = 1) {
  MegatronOptions options;
  options.gpus = stages;
  options.pipeline = stages;
  options.virtual_pipeline = chunks;
  options.pipeline_layout = layout;
  return options;
}

std::string refused(const std::string& layout, int layers, int stages, int chunks = 1) {
  return refusal([&] { megatron_stages(model_with(layers), written(layout, stages, chunks)); });
}

// As Megatron unrolls it: brackets first, then single characters.
std::string unrolled(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  for (const char* pattern : {R"(\(([^)]+)\)\*(\d+))", R"((.)\*(\d+))"}) {
    const std::regex item(pattern);
    for (std::smatch match; std::regex_search(text, match, item);) {
      std::string many;
      for (int i = 0; i < std::stoi(match[2]); ++i) many += match[1];
      text = match.prefix().str() + many + match.suffix().str();
    }
  }
  return text;
}

}  // namespace

TEST_CASE("pipeline_layout: DeepSeek-V3 with its prediction module on a stage of its own",
          "[models][megatron]") {
  // 1 + 29 + 2 = 32 chunks: layers 0..2 with the embedding, 29 chunks of 2, the module, the loss.
  const MegatronStages stages =
      megatron_stages(model_with(61, true), written("Et*3|(tt|)*29,m|L", 16));
  REQUIRE(stages.layers == std::vector<int>{5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2});
  // Chunk 15 is stage 15's, chunk 16 stage 0's: layers 31 and 32.
  for (const auto& [layer, stage] :
       {std::pair{0, 0}, {2, 0}, {3, 1}, {30, 14}, {31, 15}, {33, 0}, {34, 0}, {35, 1}, {60, 13}}) {
    CAPTURE(layer);
    CHECK(stages.stage_of_layer[static_cast<std::size_t>(layer)] == stage);
  }
  REQUIRE(stages.mtp == 14);
  // The module goes on from the normed output, so the norm is where layer 60 is.
  REQUIRE(stages.final_norm == 13);
}

TEST_CASE("pipeline_layout: the final norm is on the last stage if nothing is predicted further",
          "[models][megatron]") {
  const MegatronStages stages = megatron_stages(model_with(4), written("Ett|tt|L", 3));
  REQUIRE(stages.layers == std::vector<int>{2, 2, 0});
  REQUIRE(stages.final_norm == 2);
  REQUIRE(megatron_stages(model_with(4), written("Ett|tt|mL", 3)).final_norm == 1);
}

TEST_CASE("pipeline_layout: Kimi K3's last residual attention is part of the last layer",
          "[models][megatron]") {
  const ModelSpec model = catalog_model("kimi-k3");
  MegatronOptions options = degrees(4, 1, 1, 4, 1, 1);
  options.pipeline_layout = "Et*31|t*31|t*31|L";
  const auto side = megatron(model, options);
  const std::string at = "language_model.model.";
  REQUIRE(side->stage_of(tensor_named(model, at + "output_attn_res_proj.weight")) == 2);
  REQUIRE(side->stage_of(tensor_named(model, at + "output_attn_res_norm.weight")) == 2);
  REQUIRE(side->stage_of(tensor_named(model, at + "norm.weight")) == 3);
  REQUIRE(side->stage_of(tensor_named(model, "language_model.lm_head.weight")) == 3);
}

TEST_CASE("pipeline_layout: random texts are unrolled as Megatron does",
          "[models][megatron][oracle]") {
  const unsigned seed = 11;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto times = [&](const std::string& item) {
    return pick(2) == 0 ? item : item + "*" + std::to_string(pick(4));
  };
  for (int round = 0; round < 2'000; ++round) {
    std::string text = "E";
    for (int item = pick(8); item > 0; --item) {
      const auto simple = [&] {
        return times(std::string(1, "tt|"[pick(3)])) + (pick(4) == 0 ? "," : "");
      };
      if (pick(3) > 0) {
        text += simple();
        continue;
      }
      std::string inside = simple();
      for (int more = pick(3); more > 0; --more) inside += simple();
      text += "(" + inside + ")*" + std::to_string(pick(4));
    }
    text += "L";
    CAPTURE(text);
    const std::string flat = unrolled(text);
    const int layers = static_cast<int>(std::count(flat.begin(), flat.end(), 't'));
    const int chunks = 1 + static_cast<int>(std::count(flat.begin(), flat.end(), '|'));
    if (layers == 0) continue;
    for (const int stages : {1, 2, 3}) {
      if (chunks % stages != 0) continue;
      std::vector<int> expected;
      int chunk = 0;
      for (const char c : flat) {
        if (c == '|') ++chunk;
        if (c == 't') expected.push_back(chunk % stages);
      }
      // Enough ranks for the bars that the text asks for.
      MegatronOptions options = written(text, stages);
      options.gpus = 600;
      REQUIRE(megatron_stages(model_with(layers), options).stage_of_layer == expected);
    }
  }
}

TEST_CASE("pipeline_layout: texts that say something wrong are refused", "[models][megatron]") {
  REQUIRE(refused("Etx|tL", 2, 2) ==
          "pipeline_layout: 'x' at character 3 is unknown; use E, t, m, L, |, x*3 or (xy)*3");
  REQUIRE(refused("E(t|tL", 2, 2) ==
          "pipeline_layout: the bracket at character 2 needs a number of repetitions: (tt|)*3");
  REQUIRE(refused("E(t|)tL", 2, 2) ==
          "pipeline_layout: the bracket at character 2 needs a number of repetitions: (tt|)*3");
  REQUIRE(refused("Et*|tL", 2, 2) ==
          "pipeline_layout: '*' at character 3 needs a number after it, such as t*3");
  REQUIRE(refused("Et*99999999999999999999999|tL", 2, 2) ==
          "pipeline_layout: '*' at character 3 needs a number after it, such as t*3");
  REQUIRE(refused("E(t*9999|)*9999L", 2, 2) ==
          "pipeline_layout: more than 72 layers and chunks are written; the model has fewer");
  REQUIRE(refused("tE|tL", 2, 2) ==
          "pipeline_layout: the embedding (E) must stand once, at the very beginning");
  REQUIRE(refused(",", 2, 2) ==
          "pipeline_layout: the embedding (E) must stand once, at the very beginning");
  REQUIRE(refused("EtL|t", 2, 2) ==
          "pipeline_layout: the loss (L) must stand once, at the very end");
  REQUIRE(refused("Et|ttL", 2, 2) ==
          "pipeline_layout: 3 decoder layers (t) are written, but the model has 2");
  REQUIRE(refused("Et|mtL", 2, 2) ==
          "pipeline_layout: prediction modules (m) must stand behind all decoder layers (t)");
  REQUIRE(refused("Et|t|L", 2, 2) ==
          "pipeline_layout: 3 chunks do not divide evenly over 2 stages; use 1 or 3 bars");
  REQUIRE(refused("Et|t||L", 2, 2, 3) ==
          "virtual_pipeline: 3 chunks a stage, but pipeline_layout has 2; make them equal or leave "
          "this out");
  REQUIRE(refused("Et|t||L", 2, 2, 2) == "");
  REQUIRE(refused("Ett|m|m|L", 2, 4) ==
          "pipeline_layout: all prediction modules (m) must be in one chunk");
  for (const char* text : {"Ett|m||L", "Ett||m|L"}) {
    REQUIRE(refused(text, 2, 2) ==
            "pipeline_layout: prediction modules (m) must be in the last chunk of a stage, and not "
            "on the first");
  }
  REQUIRE(refusal([] { megatron_stages(model_with(2, true), written("Et|tL", 2)); }) ==
          "pipeline_layout: the model's prediction module is sent, but no m says where it is "
          "trained");
  REQUIRE(refusal([] {
            megatron(catalog_model("nemotron-3-nano-30b-a3b"), written("E(t*26|)*1,t*26L", 2));
          }) ==
          "pipeline_layout: nemotron-3-nano-30b-a3b mixes kinds of blocks, which Megatron places "
          "by hybrid_pattern; write its borders there as bars");
}

}  // namespace refit::test
