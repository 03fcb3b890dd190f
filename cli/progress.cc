#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace refit {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

// Progress that can't be shown is not worth an error.
void show(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress(std::string text) : text_(std::move(text)) {
  if (::isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { show_until_done(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::say(std::string text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

void Progress::show_until_done() {
  bool shown = false;
  std::unique_lock lock(mutex_);
  for (int seconds = 1; !wake_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; });
       ++seconds) {
    show(fmt::format("{}refit: {}, {} s", kClearLine, text_, seconds));
    shown = true;
  }
  if (shown) show(kClearLine);
}

}  // namespace refit
