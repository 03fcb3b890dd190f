#include "tests/support/recipe_layouts.h"

#include <algorithm>

#include <fmt/format.h>

namespace refit::test {
namespace {

constexpr bool kColocated = true;

// From examples/configs of NeMo RL (github.com/NVIDIA-NeMo/RL): grpo_math_*.yaml, and those of
// recipes/llm and recipes/llm/performance that set both layouts. `tensor_parallel_size` and the
// like as their `defaults` resolve; rollouts in FP8 are blockwise, or MXFP8 where `is_mx` is set.
const RecipeLayouts kRecipes[] = {
    // {engine, gpus, tensor, context, pipeline, expert, first stage, last stage, of layers}
    {"", {"fsdp", 1}, {"vllm", 1}, kColocated},
    {"", {"megatron", 1}, {"vllm", 1}, kColocated},
    {"llama-3.1-8b", {"fsdp", 8}, {"vllm", 8}, kColocated},
    {"llama-3.1-8b", {"megatron", 8, 1, 1, 2}, {"vllm", 8}, kColocated},
    {"llama-3.1-8b", {"megatron", 8, 1, 1, 2}, {"vllm", 8}},
    {"", {"megatron", 8}, {"megatron", 8}},
    {"nemotron-3-nano-30b-a3b", {"megatron", 16, 2, 1, 1, 8}, {"megatron", 16, 4, 4}, kColocated},

    {"qwen3-30b-a3b", {"megatron", 8, 1, 1, 1, 8}, {"vllm", 8}},
    {"qwen3-30b-a3b", {"megatron", 8, 1, 1, 1, 8}, {"vllm", 8, 1, 1, "mxfp8"}},
    {"qwen3-30b-a3b", {"megatron", 16, 1, 1, 1, 16}, {"vllm", 16}, kColocated},
    {"qwen3-30b-a3b", {"megatron", 16, 1, 1, 1, 16}, {"vllm", 16, 1, 1, "mxfp8"}, kColocated},
    {"qwen3-30b-a3b", {"megatron", 16, 1, 1, 1, 8}, {"vllm", 16, 2}},
    {"qwen3-30b-a3b", {"megatron", 16, 1, 1, 2, 8}, {"vllm", 16, 2}},
    {"qwen3-30b-a3b", {"megatron", 32, 1, 1, 1, 8}, {"vllm", 32, 2}, kColocated},
    {"qwen3-30b-a3b", {"megatron", 128, 1, 1, 1, 8}, {"vllm", 64, 2}},

    {"qwen3-32b", {"megatron", 32, 4, 1, 4}, {"vllm", 32, 4}, kColocated},
    {"qwen3-32b", {"megatron", 32, 4, 1, 4}, {"vllm", 32, 4}},

    {"qwen3-235b-a22b", {"megatron", 64, 2, 2, 4, 16, 23, 23, 94}, {"vllm", 64, 8}, kColocated},
    {"qwen3-235b-a22b", {"megatron", 64, 4, 1, 4, 16, 23, 23, 94}, {"vllm", 64, 8}},
    {"qwen3-235b-a22b", {"megatron", 64, 4, 1, 4, 16, 23, 23, 94}, {"vllm", 64, 4, 1, "mxfp8"}},
    {"qwen3-235b-a22b", {"megatron", 128, 2, 2, 4, 16, 23, 23, 94}, {"vllm", 128, 8}, kColocated},
    {"qwen3-235b-a22b", {"megatron", 128, 2, 2, 8, 16, 11, 11, 94}, {"vllm", 128, 16}, kColocated},
    {"qwen3-235b-a22b", {"megatron", 128, 4, 1, 8, 16, 11, 11, 94}, {"vllm", 128, 8}},

    {"nemotron-3-super-120b-a12b", {"megatron", 64, 4, 1, 1, 32}, {"vllm", 192, 8}},
    {"nemotron-3-super-120b-a12b", {"megatron", 256, 4, 1, 1, 32}, {"vllm", 256, 8}, kColocated},

    {"deepseek-v3", {"megatron", 128, 1, 1, 8, 16, 7, 6, 61}, {"vllm", 128, 32}, kColocated},
    {"deepseek-v3", {"megatron", 128, 1, 1, 8, 16, 7, 6, 61}, {"vllm", 128, 16}},
    {"deepseek-v3", {"megatron", 256, 1, 1, 16, 16, 3, 2, 61}, {"vllm", 256, 32}, kColocated},
    {"deepseek-v3", {"megatron", 256, 1, 1, 16, 16, 3, 2, 61}, {"vllm", 256, 32}},
    {"deepseek-v3",
     {"megatron", 256, 1, 1, 16, 16, 3, 2, 61},
     {"vllm", 256, 16, 1, "fp8_blockwise"}},
    {"deepseek-v3", {"megatron", 512, 8, 4, 8, 32, 7, 6, 61}, {"vllm", 512, 64}, kColocated},
};

std::string degree(const char* key, int size) {
  return size > 1 ? fmt::format(", {}: {}", key, size) : "";
}

std::string experts(const std::string& engine, int expert, const ModelSpec& model) {
  if (engine != "megatron" || model.experts == 0) return "";
  return degree("expert", expert) + ", expert_tensor: 1";
}

// The first stages get one layer more where they don't divide, as people write it out then.
std::string stage_layers(int layers, int stages) {
  if (layers % stages == 0) return "";
  std::string list;
  for (int s = 0; s < stages; ++s)
    list += fmt::format("{}{}", s > 0 ? ", " : "", layers / stages + (s < layers % stages ? 1 : 0));
  return ", stage_layers: [" + list + "]";
}

std::string training(const RecipeTraining& t, const ModelSpec& model) {
  const std::string stages =
      t.first_stage > 0 && t.of_layers == model.layers
          ? degree("first_stage_layers", t.first_stage) + degree("last_stage_layers", t.last_stage)
          : stage_layers(model.layers, t.pipeline);
  return fmt::format("{{engine: {}, gpus: {}", t.engine, t.gpus) + degree("tensor", t.tensor) +
         degree("context", t.context) + degree("pipeline", t.pipeline) + stages +
         experts(t.engine, t.expert, model) + "}";
}

std::string generation(const RecipeLayouts& recipe, const ModelSpec& model) {
  const RecipeGeneration& g = recipe.generation;
  return fmt::format("{{engine: {}, gpus: {}, first_gpu: {}", g.engine, g.gpus,
                     recipe.colocated ? 0 : recipe.training.gpus) +
         degree("tensor", g.tensor) + experts(g.engine, g.expert, model) +
         (g.precision == "bf16" ? "" : ", precision: " + g.precision) + "}";
}

}  // namespace

int RecipeLayouts::ranks() const {
  return colocated ? std::max(training.gpus, generation.gpus) : training.gpus + generation.gpus;
}

std::string RecipeLayouts::name() const {
  const auto of = [](const char* axis, int size) {
    return size > 1 ? fmt::format(" {}{}", axis, size) : "";
  };
  const RecipeTraining& t = training;
  const RecipeGeneration& g = generation;
  return fmt::format("{} {}{}{}{}{} -> {} {}{}{}{}{}", t.engine, t.gpus, of("TP", t.tensor),
                     of("CP", t.context), of("PP", t.pipeline), of("EP", t.expert), g.engine,
                     g.gpus, of("TP", g.tensor), of("EP", g.expert),
                     g.precision == "bf16" ? "" : " " + g.precision,
                     colocated ? ", colocated" : "");
}

std::span<const RecipeLayouts> recipe_layouts() { return kRecipes; }

std::string scenario_of(const RecipeLayouts& recipe, const ModelSpec& model) {
  return fmt::format(
      "scenario: {}\ncluster: {{catalog: dgx_h100, nodes: {}}}\nmodel: {}\ntraining: {}\n"
      "generation: {}\n",
      recipe.name(), (recipe.ranks() + 7) / 8, model.name, training(recipe.training, model),
      generation(recipe, model));
}

}  // namespace refit::test
