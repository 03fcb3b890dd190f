#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace refit {

// Does something at a moment of the steady clock, beside whatever this thread does; not at all if
// it is destroyed before. For faults that are caused on purpose.
class FaultTrigger {
 public:
  FaultTrigger(double at_steady_s, std::function<void()> act);
  ~FaultTrigger();
  FaultTrigger(const FaultTrigger&) = delete;
  FaultTrigger& operator=(const FaultTrigger&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable called_off_;
  bool off_ = false;
  std::thread thread_;
};

}  // namespace refit
