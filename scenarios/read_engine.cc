#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

constexpr int kMostGpus = 1'000'000;

// Layout errors start with the key that is wrong ("tensor: 3 does not …") or with the keys whose
// product is ("tensor x context: …"); say where it stands. A key that is not written has its
// default: look on.
[[noreturn]] void fail_at_key(const YamlNode& node, const std::string& message) {
  const std::size_t colon = message.find(": ");
  if (colon == std::string::npos) node.fail(message);
  const std::string keys = message.substr(0, colon);
  if (const auto only = node.find(keys)) only->fail(message.substr(colon + 2));
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t end = std::min(keys.find(" x ", at), keys.size());
    if (const auto key = node.find(keys.substr(at, end - at))) key->fail(message);
    at = end + 3;
  }
  node.fail(message);
}

Place read_place(const YamlNode& node, int next_gpu, int gpus_in_cluster) {
  const auto written = node.find("first_gpu");
  const int first = written ? static_cast<int>(written->integer(0, kMostGpus)) : next_gpu;
  const YamlNode gpus_node = node.at("gpus");
  const int gpus = static_cast<int>(gpus_node.integer(1, kMostGpus));
  if (written && first >= gpus_in_cluster) {
    written->fail(fmt::format("there is no GPU {}; the cluster has GPUs 0 to {}", first,
                              gpus_in_cluster - 1));
  }
  if (first + gpus > gpus_in_cluster) {
    gpus_node.fail(fmt::format(
        "GPUs {} to {} are asked for, but the cluster has GPUs 0 to {}; add nodes or use fewer",
        first, first + gpus - 1, gpus_in_cluster - 1));
  }
  return {gpus, Rank(first)};
}

}  // namespace

std::unique_ptr<Parallelism> read_engine(const YamlNode& node, const ModelSpec& model, int next_gpu,
                                         int gpus_in_cluster) {
  const bool is_megatron = node.at("engine").one_of<bool>({{"megatron", true}, {"vllm", false}});
  if (is_megatron) {
    node.allow_only({"engine", "gpus", "first_gpu", "tensor", "context", "pipeline", "expert",
                     "expert_tensor", "first_stage_layers", "last_stage_layers", "stage_layers",
                     "vocab_divisible_by"});
  } else {
    node.allow_only({"engine", "gpus", "first_gpu", "tensor", "pipeline", "data", "engines",
                     "expert_parallel"});
  }
  const Place place = read_place(node, next_gpu, gpus_in_cluster);
  if (is_megatron) {
    const MegatronOptions options = read_megatron(node, model, place);
    try {
      return megatron(model, options);
    } catch (const Error& error) {
      fail_at_key(node, error.what());
    }
  }
  const VllmOptions options = read_vllm(node, model, place);
  try {
    return vllm(model, options);
  } catch (const Error& error) {
    fail_at_key(node, error.what());
  }
}

Refit refit_of(const ModelSpec& model, const Parallelism& training, const YamlNode& training_node,
               const Parallelism& generation, const YamlNode& generation_node, int ranks) {
  // Lay out every tensor once, side by side, so that a degree that does not fit is blamed on its
  // side.
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
