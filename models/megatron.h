#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/parallelism.h"

namespace refit {

// Megatron-Core. Two grids over the same ranks; in the usual order, fastest axis last:
//   dense:   pp, dp, cp, tp          (cp and dp hold copies)
//   experts: pp, edp, ep, etp
// The same for training and for generation: an engine of several copies is data parallel here.
struct MegatronOptions {
  int gpus = 0;
  Rank first;
  int tensor = 1, context = 1, pipeline = 1, expert = 1;
  std::optional<int> expert_tensor;  // nothing: = tensor, as Megatron defaults it
  // Axes, fastest first. Both grids follow it, each with the axes it has.
  std::string order = "tp-cp-ep-dp-pp";

  // Stages hold several chunks of layers; chunk i, in layer order, is on stage i % pipeline.
  int virtual_pipeline = 1;
  // At most one of these says where stages begin; with none, all chunks are equal.
  std::optional<int> first_stage_layers, last_stage_layers;      // the others share the rest evenly
  bool account_for_embedding = false, account_for_loss = false;  // each takes a layer's place
  std::vector<int> stage_layers;                                 // every stage written out
  std::string pipeline_layout;  // "Et*3|(tt|)*29,m|L": every chunk written out
  std::string hybrid_pattern;   // "M*M*|MEME/*E": every block, with chunks between bars

  // Rows of the vocabulary are padded to a multiple of this times `tensor`; nothing: not padded.
  std::optional<std::int64_t> vocab_divisible_by = 128;
};

// Errors(bad_input) start with the key of the scenario that is wrong ("pipeline: …").
std::unique_ptr<Parallelism> megatron(const ModelSpec& model, const MegatronOptions& options);

// What cures most refusals of experts: Megatron cuts them like everything else unless told
// otherwise. Empty if that is not at work here.
std::string expert_tensor_hint(const ModelSpec& model, const MegatronOptions& options);

// What Megatron-Bridge sets vocab_divisible_by to when it loads this model.
std::optional<std::int64_t> bridge_vocab_divisor(const ModelSpec& model);

// The rows of q, k and v that a rank holds when Megatron cuts its fused QKV matrix, in which each
// KV group's query heads (then gates), key and value follow each other, into `tensor` equal parts.
// The cut may fall inside a group or a head.
struct QkvRows {
  IntervalSet q, k, v;
};
QkvRows megatron_qkv_rows(const HeadGroups& heads, int tensor, int tensor_rank);
QkvRows megatron_qkv_rows(const HeadGroups& heads, Interval fused_rows);  // of any of its rows

}  // namespace refit
