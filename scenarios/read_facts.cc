#include "models/precision.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

int number(const YamlNode& node, const char* key, int otherwise) {
  const auto found = node.find(key);
  return found ? static_cast<int>(found->integer(0, kMostDegree)) : otherwise;
}

bool is_true(const YamlNode& node, const char* key) {
  const auto found = node.find(key);
  return found && found->boolean();
}

}  // namespace

SideFacts read_facts(const YamlNode& node, const ModelSpec& model, const Parallelism& side,
                     int next_gpu) {
  SideFacts facts;
  facts.engine = node.at("engine").text();
  facts.gpus = side.gpus();
  facts.first = Rank(number(node, "first_gpu", next_gpu));
  facts.tensor = number(node, "tensor", 1);
  facts.context = number(node, "context", 1);
  facts.pipeline = side.stages();
  facts.data = number(node, "data", 1);
  facts.expert = number(node, "expert", 1);
  const bool megatron = facts.engine == "megatron";
  if (megatron && model.experts > 0)
    facts.expert_tensor = number(node, "expert_tensor", facts.tensor);
  if (is_true(node, "expert_parallel"))
    facts.expert = facts.tensor * facts.data * number(node, "prefill_context", 1);
  facts.virtual_pipeline = number(node, "virtual_pipeline", 1);
  facts.written_pipeline = node.find("pipeline_layout").has_value();
  facts.accounts_embedding = is_true(node, "account_for_embedding");
  facts.accounts_loss = is_true(node, "account_for_loss");
  facts.redundant_experts =
      node.find("expert_slots").has_value() || number(node, "redundant_experts", 0) > 0;
  if (const auto precision = node.find("precision")) {
    facts.precision = (precision->is_map() ? precision->at("format") : *precision).text();
  } else {
    facts.precision = to_string(main_dtype(model));
  }
  return facts;
}

}  // namespace refit::detail
