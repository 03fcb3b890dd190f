#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace refit::fake {

enum class AccessKind { read, write, atomic };

// A thread of a grid, and how many barriers its block has passed.
struct ThreadPlace {
  std::uint32_t block = 0;
  std::uint16_t thread = 0;
  std::uint16_t barriers = 0;
};

// Who touched each byte last. Two accesses of two threads need something to keep them apart if one
// of them writes: a barrier, if both are of one block, or that both are atomic.
class RaceWatch {
 public:
  void clear() { pages_.clear(), last_ = nullptr; }

  bool is_written(std::uintptr_t at) {
    const Byte& byte = of(at);
    return byte.write.is_there || byte.atomic.is_there;
  }

  // True if the access races with an earlier one.
  bool touch(std::uintptr_t at, AccessKind kind, const ThreadPlace& place) {
    Byte& byte = of(at);
    const bool read = races(byte.read, place) || races(byte.other_read, place);
    const bool write = races(byte.write, place), atomic = races(byte.atomic, place);
    switch (kind) {
      case AccessKind::read:
        if (byte.read.is_there && !is_same_thread(byte.read.place, place))
          byte.other_read = byte.read;
        byte.read = {place, true};
        return write || atomic;
      case AccessKind::write:
        byte.write = {place, true};
        return read || write || atomic;
      default:
        byte.atomic = {place, true};
        return read || write;
    }
  }

 private:
  struct Access {
    ThreadPlace place;
    bool is_there = false;
  };
  // Of those who read it, two: one of them is not the thread that then writes.
  struct Byte {
    Access write, atomic, read, other_read;
  };
  static constexpr std::uintptr_t kPageBytes = 256;
  using Page = std::array<Byte, kPageBytes>;

  Byte& of(std::uintptr_t at) {
    const std::uintptr_t page = at / kPageBytes;
    if (last_ == nullptr || page != last_page_) {
      std::unique_ptr<Page>& found = pages_[page];
      if (found == nullptr) found = std::make_unique<Page>();
      last_ = found.get();
      last_page_ = page;
    }
    return (*last_)[at % kPageBytes];
  }

  static bool is_same_thread(const ThreadPlace& a, const ThreadPlace& b) {
    return a.block == b.block && a.thread == b.thread;
  }
  static bool races(const Access& earlier, const ThreadPlace& now) {
    if (!earlier.is_there || is_same_thread(earlier.place, now)) return false;
    return earlier.place.block != now.block || earlier.place.barriers == now.barriers;
  }

  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::uintptr_t last_page_ = 0;
  Page* last_ = nullptr;
};

}  // namespace refit::fake
