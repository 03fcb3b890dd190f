#pragma once

#include <chrono>
#include <thread>

namespace refit {

// Between two looks at something that only answers when asked. At first only the processor is
// offered to others, which costs a waiting rank about a microsecond; then it sleeps, so that many
// virtual ranks can share few cores.
class Patience {
 public:
  explicit Patience(double timeout_s)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(timeout_s))) {}

  void pause() {
    if (++turns_ < 200) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  // Not looked at while the wait is short: the clock costs as much as the look.
  bool is_over() const { return turns_ >= 200 && Clock::now() > end_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
  int turns_ = 0;
};

}  // namespace refit
