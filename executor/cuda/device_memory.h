#pragma once

#include <map>
#include <vector>

#include "executor/cuda/device_buffer.h"
#include "executor/cuda/part_table.h"
#include "executor/cuda/shard_index.h"
#include "executor/memory_space.h"

namespace refit {

// The memory of the current device as a space for RankMemory. What is given back is kept for the
// next who wants as much, since cudaFree waits for the whole device.
class DeviceMemory : public MemorySpace {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() override;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* take(std::int64_t bytes) override;
  void give_back(std::byte* at, std::int64_t bytes) noexcept override;
  void poison(std::byte* at, std::int64_t bytes) override;
  void fill(std::byte* shard, const ShardContent& content) override;
  WrongBytes check(const std::byte* shard, const ShardContent& content) override;
  void copy(std::span<const StridedBox> from, std::span<const StridedBox> to) override;

 private:
  const IntervalStart* upload(const std::vector<IntervalStart>& table);
  void copy_packed(std::span<const StridedBox> boxes, std::byte* dense, std::int64_t begin,
                   std::int64_t end, bool pack);
  void release_spare() noexcept;

  Stream stream_;
  PartTable parts_;
  DeviceBuffer staging_, table_, result_;
  std::map<std::int64_t, std::vector<std::byte*>> spare_;  // by rounded size
};

}  // namespace refit
