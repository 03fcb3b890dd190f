#include "scenarios/import/megatron_training.h"

#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

void read_stages(MegatronFlags& args, const MegatronNumbers& numbers, std::int64_t pipeline,
                 Imported& out) {
  ImportedPart& part = out.training;
  for (const auto& [flag, key] :
       {std::pair("--decoder-first-pipeline-num-layers", "first_stage_layers"),
        std::pair("--decoder-last-pipeline-num-layers", "last_stage_layers")}) {
    if (const auto layers = args.integer(flag, fmt::format("training.{}", key), 0))
      set_key(part, key, fmt::format("{}", *layers), flag);
  }
  if (args.has("--account-for-embedding-in-pipeline-split"))
    set_key(part, "account_for_embedding", "true", "--account-for-embedding-in-pipeline-split");
  if (args.has("--account-for-loss-in-pipeline-split"))
    set_key(part, "account_for_loss", "true", "--account-for-loss-in-pipeline-split");
  const char* const layout = "--pipeline-model-parallel-layout";
  if (const auto text = args.text(layout, "training.pipeline_layout"))
    set_key(part, "pipeline_layout", yaml_text(*text), layout);
  for (const char* flag : {"--hybrid-override-pattern", "--hybrid-layer-pattern"}) {
    if (const auto text = args.text(flag, "training.hybrid_pattern"))
      set_key(part, "hybrid_pattern", yaml_text(*text), flag);
  }
  const char* const chunks = "--num-virtual-stages-per-pipeline-rank";
  const char* const per_chunk = "--num-layers-per-virtual-pipeline-stage";
  if (const auto count = args.integer(chunks, "training.virtual_pipeline")) {
    set_key(part, "virtual_pipeline", fmt::format("{}", *count), chunks);
  } else if (const auto layers = args.integer(per_chunk, "training.virtual_pipeline")) {
    const std::int64_t all = numbers.layers.value_or(0);
    if (all > 0 && all % (pipeline * *layers) == 0) {
      set_key(part, "virtual_pipeline", fmt::format("{}", all / pipeline / *layers),
              fmt::format("{} {} of {} layers on {} stages", per_chunk, *layers, all, pipeline));
    } else {
      out.asked.push_back(fmt::format("training.virtual_pipeline: {} {} does not divide the layers",
                                      per_chunk, *layers));
    }
  }
}

// Rows of the vocabulary are padded for training, which surprises whoever compares shapes.
void read_padding(MegatronFlags& args, const MegatronNumbers& numbers, std::int64_t tensor,
                  Imported& out) {
  const char* const flag = "--make-vocab-size-divisible-by";
  const auto given = args.integer(flag, "training.vocab_padding");
  const std::int64_t unit = given.value_or(128) * tensor;
  std::string source = given ? flag : "Megatron's default of 128";
  if (numbers.vocab) {
    source += fmt::format(": {} rows are held as {}", format_count(*numbers.vocab),
                          format_count((*numbers.vocab + unit - 1) / unit * unit));
  }
  set_key(out.training, "vocab_padding", given ? fmt::format("{}", *given) : "megatron", source);
}

}  // namespace

void read_megatron_training(MegatronFlags& args, const MegatronNumbers& numbers, Imported& out) {
  ImportedPart& part = out.training;
  const bool is_fsdp = args.has("--use-megatron-fsdp") || args.has("--use-custom-fsdp");
  set_key(part, "engine", is_fsdp ? "megatron_fsdp" : "megatron",
          is_fsdp ? "--use-megatron-fsdp" : "flags of Megatron-LM");
  const std::int64_t tensor = args.copy("--tensor-model-parallel-size", "training", part, "tensor");
  const std::int64_t pipeline =
      args.copy("--pipeline-model-parallel-size", "training", part, "pipeline");
  args.copy("--context-parallel-size", "training", part, "context");
  args.copy("--expert-model-parallel-size", "training", part, "expert");
  args.copy("--expert-tensor-parallel-size", "training", part, "expert_tensor");
  const bool has_experts = numbers.experts.value_or(0) > 0 || find_key(part, "expert") != nullptr;
  if (has_experts && tensor > 1 && !args.has("--expert-tensor-parallel-size")) {
    set_key(part, "expert_tensor", fmt::format("{}", tensor),
            "no --expert-tensor-parallel-size: Megatron takes that of tensor");
  }
  if (args.has("--use-tp-pp-dp-mapping"))
    set_key(part, "order", "tp-cp-ep-pp-dp", "--use-tp-pp-dp-mapping");
  read_stages(args, numbers, pipeline, out);
  read_padding(args, numbers, tensor, out);
  if (args.has("--fp16")) set_key(part, "precision", "fp16", "--fp16");
  if (args.has("--fp8-param-gather")) {
    const auto recipe = args.text("--fp8-recipe", "training.precision");
    if (recipe == "blockwise" || recipe == "mxfp8") {
      set_key(part, "precision", *recipe == "mxfp8" ? "mxfp8" : "fp8_blockwise",
              "--fp8-param-gather");
    } else {
      out.left_out.push_back("--fp8-param-gather: weights have scales that no scenario knows");
    }
  }
}

}  // namespace refit
