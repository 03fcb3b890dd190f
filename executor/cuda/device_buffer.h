#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "executor/cuda/cuda_check.h"

// Owners of what CUDA hands out. Destructors don't look at the outcome: they also run while an
// error is on its way, when every call returns it again.
namespace refit {

// Grows only, and forgets what it held. The old bytes are kept to the end, since freeing waits for
// the whole device, where a kernel may wait for a dead peer; each time it grows at least twofold,
// so that is no more than it holds.
template <cudaError_t (*take)(void**, std::size_t), cudaError_t (*give_back)(void*)>
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  GrowingBuffer(GrowingBuffer&&) = default;
  GrowingBuffer& operator=(GrowingBuffer&&) = delete;
  ~GrowingBuffer() {
    for (void* at : all_) give_back(at);
  }

  std::byte* data() { return all_.empty() ? nullptr : static_cast<std::byte*>(all_.back()); }

  // The device must be through with the old bytes.
  void reserve(std::int64_t bytes) {
    if (bytes <= bytes_) return;
    const std::int64_t grown = std::max(bytes, 2 * bytes_);
    void* at = nullptr;
    cuda_check(take(&at, static_cast<std::size_t>(grown)), "memory for staging");
    all_.push_back(at);
    bytes_ = grown;
  }

 private:
  std::vector<void*> all_;  // the last is in use
  std::int64_t bytes_ = 0;
};

inline cudaError_t take_device(void** at, std::size_t bytes) { return cudaMalloc(at, bytes); }
inline cudaError_t take_pinned(void** at, std::size_t bytes) { return cudaMallocHost(at, bytes); }

using DeviceBuffer = GrowingBuffer<take_device, cudaFree>;
// Host memory that the device copies from without a detour.
using PinnedBuffer = GrowingBuffer<take_pinned, cudaFreeHost>;

class Stream {
 public:
  Stream() {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  cudaStream_t get() const { return stream_; }
  void synchronize() const { cuda_check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

// A mark in a stream. Reached until it is recorded for the first time.
class Event {
 public:
  Event() { cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDefault), "cudaEventCreate"); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  void record(cudaStream_t stream) {
    cuda_check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }

  bool reached() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) return false;
    cuda_check(status, "cudaEventQuery");
    return true;
  }

  // What is put into the stream from now on waits for the mark as it was last recorded.
  void hold(cudaStream_t stream) const {
    cuda_check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }

  // Both must be reached.
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace refit
