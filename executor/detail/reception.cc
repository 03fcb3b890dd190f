#include "executor/detail/reception.h"

#include <optional>
#include <utility>

#include <sys/socket.h>

#include "executor/run_rank.h"

namespace refit::detail {
namespace {

constexpr double kHelloSeconds = 2;         // a stranger that says nothing is sent away
constexpr std::uint64_t kMostBytes = 4096;  // that it may say

}  // namespace

std::string encode(const Introduction& introduction) {
  std::string out;
  put(out, introduction.rank);
  put(out, introduction.ranks);
  put_text(out, introduction.job);
  return out;
}

Introduction decode_introduction(std::string_view in) {
  Introduction introduction;
  introduction.rank = take<Rank>(in);
  introduction.ranks = take<std::int32_t>(in);
  introduction.job = take_text(in);
  return introduction;
}

Reception::Reception(Descriptor listener, std::string job)
    : listener_(std::move(listener)), job_(std::move(job)) {
  make_nonblocking(listener_);
}

std::vector<Reception::Guest> Reception::look() {
  while (true) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) break;
    strangers_.push_back({std::move(socket), FrameReader(kMostBytes), steady_clock_s()});
  }
  std::vector<Guest> guests;
  std::vector<Stranger> waiting;
  for (Stranger& stranger : strangers_) {
    try {
      const bool open = stranger.reader.fill(stranger.socket.get());
      if (const auto frame = stranger.reader.next()) {
        if (frame->kind != FrameKind::hello) continue;
        Introduction introduction = decode_introduction(frame->body);
        if (introduction.job != job_) continue;
        guests.push_back(
            {std::move(introduction), std::move(stranger.socket), std::move(stranger.reader)});
      } else if (open && steady_clock_s() - stranger.since_s < kHelloSeconds) {
        waiting.push_back(std::move(stranger));
      }
    } catch (const Error&) {
      continue;  // not one of ours
    }
  }
  strangers_ = std::move(waiting);
  return guests;
}

void Reception::watch(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) fds.push_back({stranger.socket.get(), POLLIN, 0});
}

}  // namespace refit::detail
