#include <fmt/format.h>

#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

constexpr int kMostDegree = 1'000'000;

int degree(const YamlNode& node, const char* key, const Place& place) {
  const auto found = node.find(key);
  if (!found) return 1;
  const int size = static_cast<int>(found->integer(1, kMostDegree));
  if (size > place.gpus) {
    found->fail(fmt::format("{} ranks are more than the {} GPUs of this side", size, place.gpus));
  }
  return size;
}

std::optional<int> layers(const YamlNode& node, const char* key, const ModelSpec& model) {
  const auto found = node.find(key);
  if (!found) return std::nullopt;
  return static_cast<int>(found->integer(0, model.layers));
}

struct Degree {
  const char* key;
  std::int64_t size;  // at most kMostDegree: three of them can be multiplied
};

// The engines check what divides; too large a product is said here, before it could overflow.
void check_product(const YamlNode& node, std::initializer_list<Degree> degrees, const Place& place,
                   const char* hint = "") {
  std::int64_t ranks = 1;
  std::string text;
  for (const Degree& d : degrees) {
    ranks *= d.size;
    text += fmt::format("{}{} {}", text.empty() ? "" : " x ", d.key, d.size);
  }
  if (ranks <= place.gpus) return;
  const std::string message =
      fmt::format("{} need {} ranks, but gpus is {}{}", text, ranks, place.gpus, hint);
  for (const Degree& d : degrees) {
    const auto key = node.find(d.key);
    if (key && d.size > 1) key->fail(message);
  }
  node.fail(message);
}

// What only a mixture of experts has must not be asked of a dense model, where it would mean
// nothing.
void check_experts(const YamlNode& node, const char* key, bool is_asked, const ModelSpec& model) {
  if (!is_asked || model.experts > 0) return;
  node.at(key).fail(fmt::format("{} has no routed experts; leave this out", model.name));
}

std::vector<int> read_stage_layers(const YamlNode& node, const ModelSpec& model, int stages) {
  std::vector<int> sizes;
  for (const YamlNode& item : node.items()) {
    sizes.push_back(static_cast<int>(item.integer(0, model.layers)));
  }
  if (sizes.size() != static_cast<std::size_t>(stages)) {
    node.fail(fmt::format("{} stages are written out, but pipeline is {}; make them equal",
                          sizes.size(), stages));
  }
  return sizes;
}

}  // namespace

MegatronOptions read_megatron(const YamlNode& node, const ModelSpec& model, const Place& place) {
  MegatronOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.tensor = degree(node, "tensor", place);
  options.context = degree(node, "context", place);
  options.pipeline = degree(node, "pipeline", place);
  options.expert = degree(node, "expert", place);
  if (node.find("expert_tensor")) options.expert_tensor = degree(node, "expert_tensor", place);
  check_experts(node, "expert", options.expert > 1, model);
  check_experts(node, "expert_tensor", options.expert_tensor.value_or(1) > 1, model);
  check_product(
      node,
      {{"tensor", options.tensor}, {"context", options.context}, {"pipeline", options.pipeline}},
      place);
  if (model.experts > 0) {
    check_product(node,
                  {{"expert", options.expert},
                   {"expert_tensor", options.expert_tensor.value_or(options.tensor)},
                   {"pipeline", options.pipeline}},
                  place,
                  options.expert_tensor ? "" : "; expert_tensor is tensor unless it is written");
  }
  options.first_stage_layers = layers(node, "first_stage_layers", model);
  options.last_stage_layers = layers(node, "last_stage_layers", model);
  if (const auto sizes = node.find("stage_layers")) {
    for (const char* other : {"first_stage_layers", "last_stage_layers"}) {
      if (const auto v = node.find(other)) v->fail("stage_layers already says this; leave one out");
    }
    options.stage_layers = read_stage_layers(*sizes, model, options.pipeline);
  }
  if (options.first_stage_layers && options.last_stage_layers && options.pipeline < 2) {
    node.at("last_stage_layers")
        .fail("the first stage is the last one; use a pipeline of 2 or more");
  }
  if (const auto multiple = node.find("vocab_divisible_by")) {
    options.vocab_divisible_by = multiple->integer(1, 1'000'000);
  }
  return options;
}

VllmOptions read_vllm(const YamlNode& node, const ModelSpec& model, const Place& place) {
  VllmOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.tensor = degree(node, "tensor", place);
  options.pipeline = degree(node, "pipeline", place);
  options.data = degree(node, "data", place);
  if (const auto flag = node.find("expert_parallel")) options.expert_parallel = flag->boolean();
  check_experts(node, "expert_parallel", options.expert_parallel, model);
  check_product(
      node, {{"tensor", options.tensor}, {"pipeline", options.pipeline}, {"data", options.data}},
      place);
  if (const auto engines = node.find("engines")) {
    const std::int64_t asked = engines->integer(1, kMostDegree);
    const std::int64_t each = std::int64_t{options.tensor} * options.pipeline * options.data;
    if (asked * each != options.gpus) {
      engines->fail(
          fmt::format("{} engines of {} ranks are {} GPUs, but gpus is {}; make them equal", asked,
                      each, asked * each, options.gpus));
    }
  }
  return options;
}

}  // namespace refit::detail
