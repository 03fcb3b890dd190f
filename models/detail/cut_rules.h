#pragma once

#include <cstdint>

#include "models/layout.h"
#include "models/model_spec.h"

namespace refit::detail {

// How vLLM and SGLang cut one dim of a tensor among the ranks that share it, whoever those are.
struct CutRules {
  HeadGroups heads;
  LinearHeads linear_heads;
  std::int64_t vocab_multiple = 1;
  bool mxfp4_experts = false;

  // Error(bad_input) here or from the split's pieces if `ranks` can't cut it.
  Split split(const TensorSpec& tensor, const TensorDim& dim, int ranks) const;

  std::int64_t padded_vocabulary(std::int64_t rows) const;
};

// Matrices of gpt-oss: [experts, in, out], with gate and up in turn.
bool is_transposed_expert(const TensorSpec& tensor);

}  // namespace refit::detail
