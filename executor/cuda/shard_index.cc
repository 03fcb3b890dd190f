#include "executor/cuda/shard_index.h"

#include <fmt/format.h>

#include "base/error.h"

namespace refit {

ShardIndex shard_index(const ShardContent& content, std::vector<IntervalStart>& table) {
  const std::size_t dims = content.shape.size();
  if (dims > ShardIndex::kMostDims) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("tensor class {} has {} dims; on a GPU at most {} are filled and checked",
                    content.tensor_class, dims, ShardIndex::kMostDims));
  }
  ShardIndex index;
  index.seed = content.seed;
  index.tensor_class = content.tensor_class;
  index.element_bytes = content.element_bytes;
  index.dims = static_cast<std::int32_t>(dims);
  index.elements = 1;
  for (std::size_t d = 0; d < dims; ++d) {
    index.length[d] = content.sides[d].size();
    index.shape[d] = content.shape[d];
    index.elements *= index.length[d];
    std::int64_t local = 0;
    for (const Interval& interval : content.sides[d].intervals()) {
      table.push_back({local, interval.begin});
      local += interval.size();
    }
    index.first[d + 1] = static_cast<std::int32_t>(table.size());
  }
  return index;
}

}  // namespace refit
