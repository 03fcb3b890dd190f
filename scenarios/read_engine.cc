#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

constexpr int kMostGpus = 1'000'000;

int degree(const YamlNode& node, const char* key) {
  const auto found = node.find(key);
  return found ? static_cast<int>(found->integer(1, kMostGpus)) : 1;
}

std::optional<int> optional_integer(const YamlNode& node, const char* key, int least, int most) {
  const auto found = node.find(key);
  if (!found) return std::nullopt;
  return static_cast<int>(found->integer(least, most));
}

// Layout errors start with the key that is wrong ("tensor: 3 does not …"); say where it stands.
[[noreturn]] void fail_at_key(const YamlNode& node, const std::string& message) {
  const std::size_t colon = message.find(": ");
  if (colon != std::string::npos) {
    if (const auto key = node.find(message.substr(0, colon))) key->fail(message.substr(colon + 2));
  }
  node.fail(message);
}

struct Place {
  int gpus = 0;
  Rank first;
};

Place read_place(const YamlNode& node, int next_gpu, int gpus_in_cluster) {
  Place place;
  place.first = Rank(optional_integer(node, "first_gpu", 0, kMostGpus).value_or(next_gpu));
  place.gpus = static_cast<int>(node.at("gpus").integer(1, kMostGpus));
  if (place.first.value + place.gpus > gpus_in_cluster) {
    node.at("gpus").fail(fmt::format("GPUs {} to {} are asked for, but the cluster has {}; add nodes or use fewer",
                                     place.first.value, place.first.value + place.gpus - 1, gpus_in_cluster));
  }
  return place;
}

std::vector<int> read_stage_layers(const YamlNode& node) {
  std::vector<int> layers;
  for (const YamlNode& item : node.items()) layers.push_back(static_cast<int>(item.integer(0, 100'000)));
  return layers;
}

std::unique_ptr<Parallelism> read_megatron(const YamlNode& node, const ModelSpec& model, const Place& place) {
  node.allow_only({"engine", "gpus", "first_gpu", "tensor", "context", "pipeline", "expert", "expert_tensor",
                   "first_stage_layers", "last_stage_layers", "stage_layers", "vocab_divisible_by"});
  MegatronOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.tensor = degree(node, "tensor");
  options.context = degree(node, "context");
  options.pipeline = degree(node, "pipeline");
  options.expert = degree(node, "expert");
  options.expert_tensor = optional_integer(node, "expert_tensor", 1, kMostGpus);
  options.first_stage_layers = optional_integer(node, "first_stage_layers", 0, 100'000);
  options.last_stage_layers = optional_integer(node, "last_stage_layers", 0, 100'000);
  if (const auto layers = node.find("stage_layers")) options.stage_layers = read_stage_layers(*layers);
  if (const auto multiple = node.find("vocab_divisible_by")) {
    options.vocab_divisible_by = multiple->integer(1, 1'000'000);
  }
  return megatron(model, options);
}

std::unique_ptr<Parallelism> read_vllm(const YamlNode& node, const ModelSpec& model, const Place& place) {
  node.allow_only({"engine", "gpus", "first_gpu", "tensor", "pipeline", "data", "engines", "expert_parallel"});
  VllmOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.tensor = degree(node, "tensor");
  options.pipeline = degree(node, "pipeline");
  options.data = degree(node, "data");
  if (const auto flag = node.find("expert_parallel")) options.expert_parallel = flag->boolean();
  if (const auto engines = node.find("engines")) {
    const std::int64_t asked = engines->integer(1, kMostGpus);
    const std::int64_t each = std::int64_t{options.tensor} * options.pipeline * options.data;
    if (asked * each != options.gpus) {
      engines->fail(fmt::format("{} engines of {} ranks are {} GPUs, but gpus is {}; make them equal", asked, each,
                                asked * each, options.gpus));
    }
  }
  return vllm(model, options);
}

}  // namespace

std::unique_ptr<Parallelism> read_engine(const YamlNode& node, const ModelSpec& model, int next_gpu,
                                         int gpus_in_cluster) {
  enum class Engine { megatron, vllm };
  const Engine engine = node.at("engine").one_of<Engine>({{"megatron", Engine::megatron}, {"vllm", Engine::vllm}});
  const Place place = read_place(node, next_gpu, gpus_in_cluster);
  try {
    return engine == Engine::megatron ? read_megatron(node, model, place) : read_vllm(node, model, place);
  } catch (const Error& error) {
    // What the reader found already says where it stands.
    if (std::string_view(error.what()).starts_with(node.where().substr(0, node.where().find(':') + 1))) throw;
    fail_at_key(node, error.what());
  }
}

Refit refit_of(const ModelSpec& model, const Parallelism& training, const YamlNode& training_node,
               const Parallelism& generation, const YamlNode& generation_node, int ranks) {
  // Lay out every tensor once, side by side, so that a degree that does not fit is blamed on its side.
  const auto try_side = [&](const Parallelism& side, const YamlNode& node) {
    try {
      for (const TensorSpec& tensor : model.tensors) side.layout(tensor, side.stage_of(tensor), 1);
    } catch (const Error& error) {
      fail_at_key(node, error.what());
    }
  };
  try_side(training, training_node);
  try_side(generation, generation_node);
  return make_refit(model, training, generation, ranks);
}

}  // namespace refit::detail
