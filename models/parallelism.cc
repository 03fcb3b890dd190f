#include "models/parallelism.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {

bool on_expert_grid(const TensorSpec& tensor) {
  return tensor.role == Role::routed_expert ||
         std::any_of(tensor.dims.begin(), tensor.dims.end(),
                     [](const TensorDim& dim) { return dim.axis == Axis::expert; });
}

void check_heads(const HeadGroups& heads, int tensor) {
  if (heads.q_heads % tensor != 0) {
    throw Error(ErrorCode::bad_input,
                fmt::format("tensor: {} does not divide {} attention heads; use a divisor of {}",
                            tensor, heads.q_heads, heads.q_heads));
  }
  if (heads.kv_heads > 0 && heads.kv_heads % tensor != 0 && tensor % heads.kv_heads != 0) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("tensor: {} is neither a divisor nor a multiple of {} key/value heads; use one",
                    tensor, heads.kv_heads));
  }
}

}  // namespace refit
