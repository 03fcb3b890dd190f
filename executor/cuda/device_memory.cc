#include "executor/cuda/device_memory.h"

#include <algorithm>

#include "base/check.h"
#include "executor/cuda/pack.h"

namespace refit {
namespace {

// A multiple of what cudaMalloc aligns to, so that chunks of almost equal size share a spare.
std::int64_t rounded(std::int64_t bytes) { return (bytes + 511) / 512 * 512; }

constexpr std::int64_t kStagingBytes = 64 << 20;  // of copies between two strided boxes

std::int64_t bytes_of(std::span<const StridedBox> boxes) {
  std::int64_t bytes = 0;
  for (const StridedBox& box : boxes) bytes += box.bytes();
  return bytes;
}

}  // namespace

DeviceMemory::~DeviceMemory() { release_spare(); }

void DeviceMemory::release_spare() noexcept {
  for (const auto& [bytes, list] : spare_) {
    for (std::byte* at : list) cudaFree(at);
  }
  spare_.clear();
}

std::byte* DeviceMemory::take(std::int64_t bytes) {
  auto& spare = spare_[rounded(bytes)];
  if (!spare.empty()) {
    std::byte* at = spare.back();
    spare.pop_back();
    return at;
  }
  void* at = nullptr;
  cudaError_t status = cudaMalloc(&at, static_cast<std::size_t>(rounded(bytes)));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is not an error yet
    release_spare();
    status = cudaMalloc(&at, static_cast<std::size_t>(rounded(bytes)));
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw std::bad_alloc();
  }
  cuda_check(status, "cudaMalloc");
  return static_cast<std::byte*>(at);
}

void DeviceMemory::give_back(std::byte* at, std::int64_t bytes) noexcept {
  try {
    spare_[rounded(bytes)].push_back(at);
  } catch (const std::bad_alloc&) {
    cudaFree(at);
  }
}

void DeviceMemory::poison(std::byte* at, std::int64_t bytes) {
  cuda_check(cudaMemsetAsync(at, std::to_integer<int>(kPoison), static_cast<std::size_t>(bytes),
                             stream_.get()),
             "cudaMemsetAsync");
  stream_.synchronize();
}

const IntervalStart* DeviceMemory::upload(const std::vector<IntervalStart>& table) {
  const std::size_t bytes = table.size() * sizeof(IntervalStart);
  table_.reserve(static_cast<std::int64_t>(bytes));
  // From pageable memory: the call has read it when it returns.
  cuda_check(
      cudaMemcpyAsync(table_.data(), table.data(), bytes, cudaMemcpyHostToDevice, stream_.get()),
      "cudaMemcpyAsync of shard intervals");
  return reinterpret_cast<const IntervalStart*>(table_.data());
}

void DeviceMemory::fill(std::byte* shard, const ShardContent& content) {
  std::vector<IntervalStart> table;
  const ShardIndex index = shard_index(content, table);
  cuda_check(launch_fill(shard, index, upload(table), stream_.get()), "fill kernel");
  stream_.synchronize();
}

WrongBytes DeviceMemory::check(const std::byte* shard, const ShardContent& content) {
  std::vector<IntervalStart> table;
  const ShardIndex index = shard_index(content, table);
  CheckResult result;
  result_.reserve(sizeof result);
  auto* on_device = reinterpret_cast<CheckResult*>(result_.data());
  cuda_check(
      cudaMemcpyAsync(on_device, &result, sizeof result, cudaMemcpyHostToDevice, stream_.get()),
      "cudaMemcpyAsync to a check result");
  cuda_check(launch_check(shard, index, upload(table), on_device, stream_.get()), "check kernel");
  cuda_check(
      cudaMemcpyAsync(&result, on_device, sizeof result, cudaMemcpyDeviceToHost, stream_.get()),
      "cudaMemcpyAsync of a check result");
  stream_.synchronize();
  WrongBytes wrong;
  wrong.count = static_cast<std::int64_t>(result.wrong_bytes);
  if (wrong.count > 0)
    wrong.first.push_back(
        global_element(index, table.data(), static_cast<std::int64_t>(result.first)));
  return wrong;
}

void DeviceMemory::copy_packed(std::span<const StridedBox> boxes, std::byte* dense,
                               std::int64_t begin, std::int64_t end, bool pack) {
  BoxParts list;
  list.add(boxes, begin, end, dense);
  parts_.upload(list, {}, stream_.get());
  const int count = static_cast<int>(list.parts.size());
  if (pack) {
    cuda_check(launch_pack(parts_.first(), count, list.tiles, stream_.get()), "pack kernel");
  } else {
    cuda_check(launch_unpack(parts_.first(), count, list.tiles, stream_.get()), "unpack kernel");
  }
  stream_.synchronize();
}

void DeviceMemory::copy(std::span<const StridedBox> from, std::span<const StridedBox> to) {
  const std::int64_t bytes = bytes_of(to);
  REFIT_CHECK(bytes == bytes_of(from));
  if (bytes == 0) return;
  if (std::byte* dense = contiguous_base(to)) {
    copy_packed(from, dense, 0, bytes, true);
  } else if (std::byte* source = contiguous_base(from)) {
    copy_packed(to, source, 0, bytes, false);
  } else {
    staging_.reserve(std::min(bytes, kStagingBytes));
    for (std::int64_t begin = 0; begin < bytes; begin += kStagingBytes) {
      const std::int64_t end = std::min(begin + kStagingBytes, bytes);
      copy_packed(from, staging_.data(), begin, end, true);
      copy_packed(to, staging_.data(), begin, end, false);
    }
  }
}

}  // namespace refit
