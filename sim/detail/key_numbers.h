#pragma once

#include <cstdint>
#include <vector>

namespace refit::detail {

// Spreads every bit of x over all bits (the finaliser of splitmix64).
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Numbers distinct keys 0, 1, 2, … in the order in which they come up. Keys must be well mixed.
// Small as long as there are few, so that it stays in the cache where millions of tasks have few
// keys.
class KeyNumbers {
 public:
  KeyNumbers() : slots_(1024) {}

  std::uint32_t of(std::uint64_t key) {
    if (2 * used_ >= slots_.size()) grow();
    Slot& slot = find(key);
    if (!slot.taken) slot = {key, used_++, true};
    return slot.number;
  }
  std::uint32_t size() const { return used_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t number = 0;
    bool taken = false;
  };

  Slot& find(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = key & mask;
    while (slots_[at].taken && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.taken) find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them
  std::uint32_t used_ = 0;
};

}  // namespace refit::detail
