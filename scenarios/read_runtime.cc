#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

void read_flag(const YamlNode& node, const char* key, bool& flag) {
  if (const auto found = node.find(key)) flag = found->boolean();
}

}  // namespace

RuntimeFacts read_runtime(const YamlNode& node) {
  node.allow_only({"eplb", "real_quant", "quant_cfg", "kv_cache", "async_rollouts", "algorithm",
                   "importance_sampling", "reset_encoder_cache", "refit_buffer", "s3_bucket"});
  RuntimeFacts facts;
  read_flag(node, "eplb", facts.eplb);
  read_flag(node, "real_quant", facts.real_quant);
  read_flag(node, "quant_cfg", facts.quant_cfg);
  read_flag(node, "async_rollouts", facts.async_rollouts);
  read_flag(node, "importance_sampling", facts.importance_sampling);
  read_flag(node, "reset_encoder_cache", facts.reset_encoder_cache);
  if (const auto v = node.find("kv_cache")) {
    facts.kv_cache = v->one_of<const char*>(
        {{"auto", "auto"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp8", "fp8"}});
  }
  if (const auto v = node.find("algorithm")) facts.algorithm = v->text();
  if (const auto v = node.find("refit_buffer")) facts.refit_buffer_bytes = v->bytes();
  if (const auto v = node.find("s3_bucket")) facts.s3_bucket = v->text();
  return facts;
}

}  // namespace refit::detail
