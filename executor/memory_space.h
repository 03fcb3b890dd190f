#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "executor/strided_box.h"
#include "models/region.h"

namespace refit {

// Which elements a shard holds, and what is in them: element_bits(seed, tensor_class, global
// index).
struct ShardContent {
  std::uint64_t seed = 0;
  std::int64_t tensor_class = 0;
  int element_bytes = 1;
  const std::vector<IntervalSet>& sides;   // of the shard, stored densely row-major
  const std::vector<std::int64_t>& shape;  // of the class
};

struct WrongBytes {
  std::int64_t count = 0;
  std::vector<std::int64_t> first;  // global elements that hold some, at least one if count > 0
};

// Where the bytes of a rank lie (host memory, a GPU) and what is done to them there. Addresses from
// one space mean nothing in another; only arithmetic on them is allowed outside. Every call has
// taken effect when it returns. Used by one thread.
class MemorySpace {
 public:
  virtual ~MemorySpace() = default;

  // Throws std::bad_alloc if there is no room.
  virtual std::byte* take(std::int64_t bytes) = 0;
  virtual void give_back(std::byte* at, std::int64_t bytes) noexcept = 0;

  virtual void poison(std::byte* at, std::int64_t bytes) = 0;
  virtual void fill(std::byte* shard, const ShardContent& content) = 0;
  virtual WrongBytes check(const std::byte* shard, const ShardContent& content) = 0;

  // Copies one stream of bytes onto another of the same length; they do not overlap.
  virtual void copy(std::span<const StridedBox> from, std::span<const StridedBox> to) = 0;
};

constexpr std::byte kPoison{0xa5};
constexpr std::size_t kMostExamples = 5;  // of wrong elements that are noted

MemorySpace& host_memory();

// Bytes of a space that are given back with their owner.
class SpaceBuffer {
 public:
  SpaceBuffer() = default;
  SpaceBuffer(MemorySpace& space, std::int64_t bytes)
      : space_(&space), at_(bytes > 0 ? space.take(bytes) : nullptr), bytes_(bytes) {}
  SpaceBuffer(SpaceBuffer&& other) noexcept { swap(other); }
  SpaceBuffer& operator=(SpaceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SpaceBuffer() {
    if (at_ != nullptr) space_->give_back(at_, bytes_);
  }

  std::byte* data() { return at_; }
  const std::byte* data() const { return at_; }
  std::int64_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }

 private:
  void swap(SpaceBuffer& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
  }

  MemorySpace* space_ = nullptr;
  std::byte* at_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace refit
