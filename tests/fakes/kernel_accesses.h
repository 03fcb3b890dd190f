#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/fakes/race_watch.h"

namespace refit::fake {

struct ByteRange {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t at, std::size_t bytes) const {
    return at >= begin && at + bytes <= end && at + bytes >= at;
  }
};

inline ByteRange range_of(const void* at, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  return {begin, begin + bytes};
}

// Where the kernel that runs here may do as it likes, for a quick answer; empty ranges if none
// runs.
struct FamiliarRanges {
  ByteRange stacks, arguments, thread_locals;
  std::array<ByteRange, 4> allocations;

  bool hold(const void* address, std::size_t bytes, AccessKind kind, std::size_t alignment) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (stacks.holds(at, bytes) || thread_locals.holds(at, bytes)) return true;
    if (kind == AccessKind::read && arguments.holds(at, bytes)) return true;
    if ((at & (alignment - 1)) != 0) return false;
    for (const ByteRange& allocation : allocations) {
      if (allocation.holds(at, bytes)) return true;
    }
    return false;
  }
};

// What the threads of one launch may touch, and whether they do it properly.
class KernelAccesses {
 public:
  KernelAccesses(ByteRange arguments, ByteRange stacks, bool watches_races);

  // Who runs from here on.
  void enter(const ThreadPlace& place) { place_ = place; }
  void begin_block() { shared_races_.clear(); }

  // What is wrong with an access, if it must not happen. Races are noted, and go on.
  std::optional<std::string_view> refusal(const void* at, std::size_t bytes, AccessKind kind,
                                          std::size_t alignment);

  const FamiliarRanges& familiar() const { return familiar_; }

 private:
  void watch(RaceWatch& races, std::uintptr_t at, std::size_t bytes, AccessKind kind,
             bool is_shared);

  FamiliarRanges familiar_;  // while races are watched, only what can have none
  std::size_t next_familiar_ = 0;
  ByteRange thread_locals_, indices_;

  bool watches_races_;
  bool has_told_ = false;
  ThreadPlace place_;
  RaceWatch races_, shared_races_;
};

// Of the launch whose thread runs here, or null.
extern thread_local constinit const FamiliarRanges* familiar_ranges;

// Before an access of the thread of a kernel that runs here, if one does; doesn't return if the
// access must not happen.
void kernel_access(const void* at, std::size_t bytes, AccessKind kind, std::size_t alignment);

}  // namespace refit::fake
