#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/cuda/execute_cuda.h"

namespace refit::test {

// What the processes of a run use to talk, for ranks that are threads of a test.
class ThreadGathering {
 public:
  explicit ThreadGathering(int ranks) : texts_(static_cast<std::size_t>(ranks)) {}

  Gathering of(Rank rank) {
    return {[this, rank](const std::string& mine) { return gather(rank, mine); },
            [this] {
              const std::lock_guard lock(mutex_);
              look();
            }};
  }

  void fail(const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_.empty()) failure_ = reason;
    }
    changed_.notify_all();
  }

 private:
  std::vector<std::string> gather(Rank rank, const std::string& mine) {
    std::unique_lock lock(mutex_);
    texts_[rank.index()] = mine;
    const std::size_t turn = turn_;
    if (++arrived_ == texts_.size()) {
      all_ = texts_;
      arrived_ = 0;
      ++turn_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return turn_ != turn || !failure_.empty(); });
    look();
    return all_;
  }

  void look() const {
    if (!failure_.empty()) throw Error(ErrorCode::environment, failure_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_, all_;
  std::size_t arrived_ = 0, turn_ = 0;
  std::string failure_;
};

}  // namespace refit::test
