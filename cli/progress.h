#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace refit {

// What is going on, on the terminal, for work that lasts over a second; silent if standard error is
// not a terminal. The line is taken away at the end.
//
//   refit: planning reshard, 12 s
class Progress {
 public:
  explicit Progress(std::string text);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(std::string text);

 private:
  void show_until_done();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::string text_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace refit
