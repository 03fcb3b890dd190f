#pragma once

#include <csetjmp>
#include <cstddef>
#include <vector>

#include <ucontext.h>

namespace refit::fake {

// Stacks of their own within one thread of the system, one of which runs until it pauses or its
// work is done. The thread that owns them can change while none runs.
class Fibers {
 public:
  using Work = void (*)(const void* context);

  static constexpr int kMost = 1024;

  Fibers();
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // What all run next, each from the top. Those that had paused never go on.
  void begin(Work work, const void* context);
  // Lets fiber `i` run; true once its work is done. After that it runs the work again.
  bool run(int i);
  // Called within a fiber: run() returns false, and the next run() goes on here.
  void pause();

  const std::byte* stacks() const { return stacks_; }
  static constexpr std::size_t kStackBytes = 64 << 10;

 private:
  struct Fiber {
    std::jmp_buf at;
    bool is_made = false, has_paused = false;
    void* sanitizer_stack = nullptr;
  };

  static void main(unsigned high, unsigned low);
  [[noreturn]] void start(int i);
  void leave();
  void arrived_in_fiber();
  std::byte* stack_of(int i) const { return stacks_ + static_cast<std::size_t>(i) * kStackBytes; }

  std::byte* stacks_ = nullptr;
  std::vector<Fiber> fibers_;
  Work work_ = nullptr;
  const void* context_ = nullptr;

  std::jmp_buf caller_;
  ucontext_t beginning_;  // not in start(), which never returns and would leave its guards behind
  int running_ = 0;
  [[maybe_unused]] const void* caller_stack_ = nullptr;  // for the address sanitizer
  [[maybe_unused]] std::size_t caller_stack_bytes_ = 0;
};

}  // namespace refit::fake
