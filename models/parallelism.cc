#include "models/parallelism.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "models/nearest_fit.h"

namespace refit {

std::vector<LayoutPart> Parallelism::layout_parts(const TensorSpec& tensor, int stage,
                                                  int members) const {
  return {{Interval{0, tensor.dims.front().size}, layout(tensor, stage, members)}};
}

bool on_expert_grid(const TensorSpec& tensor) {
  return tensor.role == Role::routed_expert ||
         std::any_of(tensor.dims.begin(), tensor.dims.end(),
                     [](const TensorDim& dim) { return dim.axis == Axis::expert; });
}

namespace {

bool share_kv(const HeadGroups& heads, int tensor) {
  return heads.kv_heads == 0 || heads.kv_heads % tensor == 0 || tensor % heads.kv_heads == 0;
}

}  // namespace

bool heads_fit(const HeadGroups& heads, int tensor) {
  return heads.q_heads % tensor == 0 && share_kv(heads, tensor);
}

void check_heads(const HeadGroups& heads, int tensor) {
  if (heads_fit(heads, tensor)) return;
  const std::string nearest =
      nearest_fit(tensor, heads.q_heads, [&](int n) { return heads_fit(heads, n); });
  if (heads.q_heads % tensor != 0) {
    throw Error(ErrorCode::bad_input, fmt::format("tensor: {} does not divide {} attention heads; "
                                                  "use {}",
                                                  tensor, heads.q_heads, nearest));
  }
  throw Error(ErrorCode::bad_input,
              fmt::format("tensor: {} is neither a divisor nor a multiple of {} key/value heads; "
                          "use {}",
                          tensor, heads.kv_heads, nearest));
}

}  // namespace refit
