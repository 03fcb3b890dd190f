#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "models/megatron.h"
#include "scenarios/detail/read.h"

namespace refit::detail {

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

std::optional<std::int64_t> read_vocab_padding(const YamlNode& node, const ModelSpec& model) {
  const std::string text = node.text();
  if (text == "megatron") return MegatronOptions().vocab_divisible_by;
  if (text == "bridge") return bridge_vocab_divisor(model);
  if (text == "none") return std::nullopt;
  if (text.find_first_not_of("0123456789-") != std::string::npos) {
    node.fail(
        fmt::format("unknown padding '{}'; write megatron, bridge, none, or a number: rows "
                    "are padded to a multiple of it times tensor",
                    text));
  }
  return node.integer(1, 1'000'000);
}

namespace {

std::optional<int> read_layers(const YamlNode& node, const char* key, const ModelSpec& model) {
  const auto found = node.find(key);
  if (!found) return std::nullopt;
  return static_cast<int>(found->integer(0, model.layers));
}

void read_stages(const YamlNode& node, const ModelSpec& model, MegatronOptions& options) {
  if (const auto chunks = node.find("virtual_pipeline")) {
    options.virtual_pipeline = static_cast<int>(chunks->integer(1, kMostDegree));
  }
  options.first_stage_layers = read_layers(node, "first_stage_layers", model);
  options.last_stage_layers = read_layers(node, "last_stage_layers", model);
  if (const auto flag = node.find("account_for_embedding")) {
    options.account_for_embedding = flag->boolean();
  }
  if (const auto flag = node.find("account_for_loss")) options.account_for_loss = flag->boolean();
  if (const auto sizes = node.find("stage_layers")) {
    options.stage_layers = read_stage_layers(*sizes, model, options.pipeline);
  }
  if (const auto text = node.find("pipeline_layout")) options.pipeline_layout = text->text();
  if (const auto text = node.find("hybrid_pattern")) options.hybrid_pattern = text->text();
}

// Stages that no sizes of the first and the last could say, the others being equal.
bool writes_stages_out(const MegatronOptions& options) {
  const std::vector<int>& sizes = options.stage_layers;
  return !options.pipeline_layout.empty() ||
         options.hybrid_pattern.find('|') != std::string::npos ||
         (sizes.size() > 3 && std::adjacent_find(sizes.begin() + 1, sizes.end() - 1,
                                                 std::not_equal_to<>()) != sizes.end() - 1);
}

}  // namespace

EngineSide read_megatron(const YamlNode& node, const ModelSpec& model, const Ground& ground) {
  node.allow_only({"engine", "precision", "gpus", "first_gpu", "tensor", "context", "pipeline",
                   "expert", "expert_tensor", "order", "virtual_pipeline", "first_stage_layers",
                   "last_stage_layers", "account_for_embedding", "account_for_loss", "stage_layers",
                   "pipeline_layout", "hybrid_pattern", "vocab_padding"});
  const Place place = read_place(node, ground);
  MegatronOptions options;
  options.gpus = place.gpus;
  options.first = place.first;
  options.tensor = read_degree(node, "tensor", place);
  options.context = read_degree(node, "context", place);
  options.pipeline = read_degree(node, "pipeline", place);
  options.expert = read_degree(node, "expert", place);
  if (node.find("expert_tensor")) options.expert_tensor = read_degree(node, "expert_tensor", place);
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
                  place, expert_tensor_hint(model, options));
  }
  if (const auto order = node.find("order")) options.order = order->text();
  read_stages(node, model, options);
  if (const auto padding = node.find("vocab_padding")) {
    options.vocab_divisible_by = read_vocab_padding(*padding, model);
  }
  SideFacts facts;
  facts.tensor = options.tensor;
  facts.context = options.context;
  facts.expert = options.expert;
  if (model.experts > 0) facts.expert_tensor = options.expert_tensor.value_or(options.tensor);
  facts.virtual_pipeline = options.virtual_pipeline;
  facts.written_pipeline = writes_stages_out(options);
  facts.accounts_embedding = options.account_for_embedding;
  facts.accounts_loss = options.account_for_loss;
  return {pinned_on_keys(node, [&] { return megatron(model, options); }), facts};
}

}  // namespace refit::detail
