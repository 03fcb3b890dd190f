#include "executor/cuda/part_table.h"

#include <cstring>

namespace refit {

void PartTable::upload(const BoxParts& first, const BoxParts& second, cudaStream_t stream) {
  first_count_ = first.parts.size();
  const std::size_t first_bytes = first.parts.size() * sizeof(BoxPart);
  const std::size_t second_bytes = second.parts.size() * sizeof(BoxPart);
  const std::size_t bytes = first_bytes + second_bytes;
  if (bytes == 0) return;
  host_.reserve(static_cast<std::int64_t>(bytes));
  device_.reserve(static_cast<std::int64_t>(bytes));
  if (first_bytes > 0) std::memcpy(host_.data(), first.parts.data(), first_bytes);
  if (second_bytes > 0) std::memcpy(host_.data() + first_bytes, second.parts.data(), second_bytes);
  cuda_check(cudaMemcpyAsync(device_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream),
             "cudaMemcpyAsync of a box list");
}

}  // namespace refit
