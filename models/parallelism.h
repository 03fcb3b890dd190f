#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/layout.h"
#include "models/model_spec.h"
#include "models/refit.h"

namespace refit {

// How one side of a refit divides a model: which pipeline stage holds a tensor, and which part of
// it each rank of that stage keeps.
class Parallelism {
 public:
  virtual ~Parallelism() = default;

  virtual int gpus() const = 0;
  virtual int stages() const = 0;
  virtual int stage_of(const TensorSpec& tensor) const = 0;

  // The layout of `members` equal tensors of one stage, with the member as an uncut first dim.
  // Error(bad_input) if the degrees do not fit the tensor; the message names both.
  virtual Layout layout(const TensorSpec& tensor, int stage, int members) const = 0;

  // Decoder layers of each stage, in order.
  virtual const std::vector<int>& stage_layers() const = 0;
};

// Whether a tensor is divided among the ranks as experts are: their matrices, and what a model
// keeps per expert under another role.
bool on_expert_grid(const TensorSpec& tensor);

// Error(bad_input) if `tensor` ranks can't share whole query heads evenly, or their number and that
// of key/value heads are no multiples of each other. Rows may divide where heads do not.
void check_heads(const HeadGroups& heads, int tensor);

// Megatron-Core. Two grids over the same ranks, fastest axis last:
//   dense:   pp, dp, cp, tp          (cp and dp hold copies)
//   experts: pp, edp, ep, etp
struct MegatronOptions {
  int gpus = 0;
  Rank first;
  int tensor = 1, context = 1, pipeline = 1, expert = 1;
  std::optional<int> expert_tensor;  // nothing: = tensor, as Megatron defaults it
  std::optional<int> first_stage_layers, last_stage_layers;
  // Layers of every stage written out; excludes the two above.
  std::vector<int> stage_layers;
  std::int64_t vocab_divisible_by = 128;  // rows are padded to a multiple of this times `tensor`
};

// vLLM. Ranks, fastest axis last: engine, dp, pp, tp. `engines` are separate copies of the server
// (NeMo RL's "DP"); `data` is vLLM's own data parallelism, which cuts experts.
struct VllmOptions {
  int gpus = 0;
  Rank first;
  int tensor = 1, pipeline = 1, data = 1;
  bool expert_parallel = false;  // experts whole on data * tensor ranks instead of cut
};

// Errors(bad_input) start with the key of the scenario that is wrong ("pipeline: …").
std::unique_ptr<Parallelism> megatron(const ModelSpec& model, const MegatronOptions& options);
std::unique_ptr<Parallelism> vllm(const ModelSpec& model, const VllmOptions& options);

// Stage sizes of the two engines for `layers` decoder layers.
std::vector<int> megatron_stage_layers(int layers, const MegatronOptions& options);
std::vector<int> vllm_stage_layers(int layers, int stages);

// The rows of q, k and v that a rank holds when Megatron cuts its fused QKV matrix, in which each
// KV group's query heads (then gates), key and value follow each other, into `tensor` equal parts.
// The cut may fall inside a group or a head.
struct QkvRows {
  IntervalSet q, k, v;
};
QkvRows megatron_qkv_rows(const HeadGroups& heads, int tensor, int tensor_rank);

// The refit of a model from one side to the other, its tensors grouped in classes.
Refit make_refit(const ModelSpec& model, const Parallelism& source, const Parallelism& destination,
                 int ranks);

}  // namespace refit
