#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/parallelism.h"

namespace refit {

// Megatron-FSDP. Ranks, fastest axis last:
//   dense:   pp, dp_replicate, shard, tp     (shard: data and context parallel ranks)
//   experts: pp, dp_replicate, shard, ep
// The parameters of a layer, or outside layers of a bucket, are packed into a flat buffer, one for
// experts and one for the rest, and each shard rank owns an equal interval of it. What it holds of
// one tensor are rows, but neither as many as others hold nor a chunk; an expert may be cut in two
// where its neighbours are whole.
struct MegatronFsdpOptions {
  // What is packed: Megatron's parameters, which fuse q, k and v, and gate and up; or those of the
  // checkpoint, as when the library wraps a model of transformers.
  enum class Parameters { megatron, checkpoint };

  int gpus = 0;
  Rank first;
  int replicate = 1;  // whole copies: HSDP
  int tensor = 1, context = 1, pipeline = 1, expert = 1;
  std::optional<int> expert_tensor;  // nothing: = tensor, as Megatron defaults it; must be 1
  std::vector<int> stage_layers;     // of every stage; empty: equal shares
  std::optional<std::int64_t> vocab_divisible_by = 128;  // as of Megatron
  Parameters parameters = Parameters::megatron;
  // Outside layers a bucket is closed when it has this many elements.
  std::int64_t bucket_elements = 40'000'000;
};

// Errors(bad_input) start with the key of the scenario that is wrong ("pipeline: …").
std::unique_ptr<Parallelism> megatron_fsdp(const ModelSpec& model,
                                           const MegatronFsdpOptions& options);

}  // namespace refit
