#pragma once

#include "executor/cuda/box_parts.h"
#include "executor/cuda/device_buffer.h"

namespace refit {

// Lists of box parts on their way to the device, where kernels read them. The device must be
// through with the lists before.
class PartTable {
 public:
  // Starts to copy both lists; kernels that are put into `stream` from now on find them.
  void upload(const BoxParts& first, const BoxParts& second, cudaStream_t stream);

  const BoxPart* first() { return reinterpret_cast<const BoxPart*>(device_.data()); }
  const BoxPart* second() { return first() + first_count_; }

 private:
  PinnedBuffer host_;
  DeviceBuffer device_;
  std::size_t first_count_ = 0;
};

}  // namespace refit
