#pragma once

#include <vector>

#include "models/flat_bucket.h"
#include "models/megatron_fsdp.h"

namespace refit::detail {

// How a group of parameters is packed, and among how many.
struct FlatRules {
  MegatronFsdpOptions::Parameters parameters = MegatronFsdpOptions::Parameters::megatron;
  HeadGroups heads;  // of one tensor parallel rank
  int tensor = 1;
  std::int64_t vocab_multiple = 1;  // rows of the vocabulary are padded to it
  int local_experts = 0;            // of one expert parallel rank
  int shard_ranks = 1;
  int expert_shard_ranks = 1;
};

using Tensors = std::vector<const TensorSpec*>;

// One parameter: rows of one tensor, of several one behind the other, or q, k and v by KV groups.
struct Parameter {
  std::vector<std::size_t> tensors;  // places among the tensors of the unit
  std::vector<std::int64_t> rows;    // of each
  std::int64_t width = 1;
  bool is_qkv = false;
  int expert = -1;  // local number

  FlatParameter shape() const {
    std::int64_t sum = 0;
    for (const std::int64_t r : rows) sum += r;
    return {sum, width};
  }
};

// The dim that tensor parallelism cuts; -1: none.
int tensor_dim(const TensorSpec& tensor);

// Whether the tensor is packed expert by expert, and not as one parameter.
bool is_packed_by_expert(const TensorSpec& tensor, const FlatRules& rules);

// A tensor as one tensor or expert parallel rank has it.
FlatParameter local_shape(const TensorSpec& tensor, const FlatRules& rules);

// The parameters of a layer in the order in which its modules register them, with those fused that
// Megatron fuses, and once for each local expert.
std::vector<Parameter> layer_parameters(const Tensors& tensors, const FlatRules& rules);

// The rows of each of its tensors that some rows of a parameter are.
std::vector<IntervalSet> tensor_rows(const Parameter& parameter, const IntervalSet& rows,
                                     const Tensors& tensors, const FlatRules& rules);

}  // namespace refit::detail
