#include "executor/fault_trigger.h"

#include <chrono>
#include <csignal>
#include <utility>

namespace refit {

FaultTrigger::FaultTrigger(double at_steady_s, std::function<void()> act)
    : thread_([this, at_steady_s, act = std::move(act)] {
        // Signals are for the rank's own thread.
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        const auto at = std::chrono::steady_clock::time_point(
            std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                std::chrono::duration<double>(at_steady_s)));
        std::unique_lock lock(mutex_);
        if (!called_off_.wait_until(lock, at, [this] { return off_; })) act();
      }) {}

FaultTrigger::~FaultTrigger() {
  {
    const std::lock_guard lock(mutex_);
    off_ = true;
  }
  called_off_.notify_all();
  thread_.join();
}

}  // namespace refit
