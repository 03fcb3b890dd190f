#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "executor/cuda/cuda_check.h"

// Owners of what CUDA hands out. Destructors don't look at the outcome: they also run while an
// error is on its way, when every call returns it again.
namespace refit {

// Grows only, and forgets what it held.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { cudaFree(at_); }

  std::byte* data() { return at_; }

  // The device must be through with the old bytes.
  void reserve(std::int64_t bytes) {
    if (bytes <= bytes_) return;
    cudaFree(std::exchange(at_, nullptr));
    bytes_ = 0;
    void* at = nullptr;
    cuda_check(cudaMalloc(&at, static_cast<std::size_t>(bytes)), "cudaMalloc of staging");
    at_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
  }

 private:
  std::byte* at_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Host memory that the device copies from without a detour. Grows only, and forgets what it held.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&&) = delete;
  ~PinnedBuffer() { cudaFreeHost(at_); }

  std::byte* data() { return at_; }

  void reserve(std::int64_t bytes) {
    if (bytes <= bytes_) return;
    cudaFreeHost(std::exchange(at_, nullptr));
    bytes_ = 0;
    void* at = nullptr;
    cuda_check(cudaMallocHost(&at, static_cast<std::size_t>(bytes)), "cudaMallocHost");
    at_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
  }

 private:
  std::byte* at_ = nullptr;
  std::int64_t bytes_ = 0;
};

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
  Event& operator=(Event&&) = delete;
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
