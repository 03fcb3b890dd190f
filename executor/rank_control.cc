#include "executor/rank_control.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>

#include <fmt/format.h>

#include "executor/detail/lateness.h"
#include "executor/detail/reception.h"
#include "executor/run_rank.h"

namespace refit {

using detail::Frame;
using detail::FrameKind;

namespace {

// A rendezvous that takes nothing for this long is lost.
constexpr int kSendTimeoutSeconds = 10;
constexpr double kPollGrainSeconds = 1e-3;  // poll() counts milliseconds

class RendezvousLost : public Error {
 public:
  explicit RendezvousLost(const std::string& what) : Error(ErrorCode::environment, what) {}
};

class Stopped : public Error {
 public:
  Stopped() : Error(ErrorCode::environment, "the run was stopped") {}
};

}  // namespace

RankControl::RankControl(Rank rank, int ranks, detail::Descriptor socket,
                         const FailureOptions& options, const std::string& job)
    : rank_(rank), ranks_(ranks), options_(options), socket_(std::move(socket)) {
  const timeval limit{kSendTimeoutSeconds, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  last_heard_s_ = last_check_s_ = steady_clock_s();
  send(FrameKind::hello, encode(detail::Introduction{rank, ranks, job}));
  std::tie(wake_, woken_) = detail::socket_pair();
  heart_ = std::thread([this] { beat(); });
}

RankControl::~RankControl() {
  wake_.close();
  heart_.join();
}

void RankControl::beat() {
  // Signals are for the rank's own thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  detail::Lateness lateness(options_.memory_s());
  double due_s = steady_clock_s() + tick_s();
  while (!detail::wait_readable(woken_.get(), tick_s())) {
    const double now = steady_clock_s();
    // A beat that could not be sent at once makes the next one late.
    lateness.add(now, now - due_s - kPollGrainSeconds);
    late_s_ = lateness.worst_s(now);
    due_s = now + tick_s();
    std::string body;
    detail::put(body, Beat{phase_, stands_, turns_, move_, late_s_, progress_});
    try {
      send(FrameKind::beat, body);
    } catch (const Error&) {
      return;  // the rank's own thread finds the connection closed, too
    }
  }
}

void RankControl::send(FrameKind kind, std::string_view body) {
  const std::string bytes = detail::encode(kind, body);
  const std::lock_guard lock(sending_);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(socket_.get(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n > 0) {
      at += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      throw RendezvousLost(
          fmt::format("the rendezvous has closed its end: {}", detail::last_error()));
    }
  }
}

void RankControl::lose(const std::string& why) {
  lost_ = why;
  throw RendezvousLost(why);
}

void RankControl::working_on(std::optional<std::uint32_t> move) {
  move_ = move ? *move : ~std::uint64_t{0};
}

double RankControl::patience_s() const {
  return options_.patience_s(std::max(late_s_.load(), all_late_s_));
}

void RankControl::check() {
  if (!lost_.empty()) lose(lost_);
  const std::uint64_t received = reader_.received();
  const bool open = reader_.fill(socket_.get());
  const bool heard = reader_.received() > received;
  const double now = steady_clock_s();
  while (auto frame = reader_.next()) {
    if (frame->kind == FrameKind::stop) {
      stopped_ = true;
      suspects_.clear();
      for (std::string_view in = frame->body; !in.empty();)
        suspects_.push_back(detail::take<Rank>(in));
    } else if (frame->kind == FrameKind::go_on) {
      stopped_ = false;
      suspects_.clear();
      inbox_.clear();  // of meetings that the failure broke up
      inbox_.push_back(std::move(*frame));
    } else if (frame->kind == FrameKind::beat) {
      std::string_view in = frame->body;
      all_late_s_ = detail::take<double>(in);
    } else {
      inbox_.push_back(std::move(*frame));
    }
  }
  // Who did not look for a while (a long fill, a stopped process) has no right to complain.
  if (heard || now - last_check_s_ > options_.timeout_s / 2) last_heard_s_ = now;
  last_check_s_ = now;
  const auto has_verdict = [&] {
    return std::ranges::any_of(inbox_, [](const Frame& f) { return f.kind == FrameKind::verdict; });
  };
  if (!open && !has_verdict()) lose("the rendezvous has closed the control connection");
  if (now - last_heard_s_ > options_.silence_s() + patience_s())
    lose(fmt::format("the rendezvous has been silent for {:.2f} s", now - last_heard_s_));
  if (stopped_) throw Stopped();
}

Frame RankControl::await(FrameKind kind) {
  double next_look = steady_clock_s() + tick_s();
  while (true) {
    const auto at = std::ranges::find(inbox_, kind, &Frame::kind);
    if (at != inbox_.end()) {
      Frame frame = std::move(*at);
      inbox_.erase(at);
      progressed();
      stands(false);
      return frame;
    }
    detail::wait_readable(fd(), tick_s());
    turned();
    check();
    const double now = steady_clock_s();
    if (now < next_look) continue;
    next_look = now + tick_s();
    if (look_) look_();
  }
}

// What a rank does after a meeting is what it did before, until it says otherwise: work, which may
// take longer than waiting ranks may leave their loops alone.
Frame RankControl::meet(FrameKind arrival, std::string_view blob, FrameKind end) {
  const RankPhase before = phase_;
  enter(RankPhase::waiting);
  send(arrival, blob);
  Frame frame = await(end);
  enter(before);
  return frame;
}

std::vector<std::string> RankControl::all_gather(std::string_view blob) {
  const Frame frame = meet(FrameKind::gather, blob, FrameKind::gathered);
  std::string_view in = frame.body;
  std::vector<std::string> blobs;
  for (int r = 0; r < ranks_; ++r) blobs.push_back(detail::take_text(in));
  return blobs;
}

double RankControl::maximum(double value) {
  std::string blob;
  detail::put(blob, value);
  for (const std::string& other : all_gather(blob)) {
    if (other.empty()) continue;
    std::string_view in = other;
    value = std::max(value, detail::take<double>(in));
  }
  return value;
}

double RankControl::sum(double value) {
  std::string blob;
  detail::put(blob, value);
  double total = 0;
  for (const std::string& other : all_gather(blob)) {
    if (other.empty()) continue;
    std::string_view in = other;
    total += detail::take<double>(in);
  }
  return total;
}

double RankControl::barrier() {
  const Frame frame = meet(FrameKind::arrive, {}, FrameKind::go);
  std::string_view in = frame.body;
  return detail::take<double>(in);
}

void RankControl::submit(std::string_view result) { send(FrameKind::result, result); }

void RankControl::finish() { send(FrameKind::finished, {}); }

Verdict RankControl::agree(const std::exception& error) {
  stands(false);  // it is not peers that it waits for now
  Failure own;
  own.rank = rank_;
  own.phase = phase_;
  own.reason = error.what();
  own.alone = true;  // until the rendezvous has spoken
  if (dynamic_cast<const RendezvousLost*>(&error) != nullptr) {
    own.rank = Rank(0);  // which serves it where ranks can outlive it
    own.reason += " (rank 0 serves it)";
  }
  if (!lost_.empty()) return {own, 0, {}};
  try {
    if (!stopped_) {
      if (const auto* known = dynamic_cast<const Error*>(&error)) own.code = known->code();
      Failure seen = own;
      if (const auto* peer = dynamic_cast<const PeerLost*>(&error)) {
        seen.rank = peer->peer();
        seen.move = peer->move();
      } else if (const auto* wrong = dynamic_cast<const WrongMessage*>(&error)) {
        seen.move = wrong->move();
      } else if (const auto* loss = dynamic_cast<const RankFailure*>(&error)) {
        seen = loss->failure();  // what an earlier loss has led to
      }
      send(FrameKind::failed, encode(seen));
    }
    send(FrameKind::report, encode(report_));
  } catch (const Error&) {
    // Closed on their side: the verdict may have been sent before.
  }
  // The rendezvous waits for the reports of all, at most a time-out, after at most another.
  const double end = steady_clock_s() + 3 * options_.timeout_s + 2 * patience_s() + 1;
  try {
    while (steady_clock_s() < end) {
      const auto at = std::ranges::find_if(inbox_, [](const Frame& f) {
        return f.kind == FrameKind::verdict || f.kind == FrameKind::go_on;
      });
      if (at != inbox_.end()) {
        const Frame frame = std::move(*at);
        inbox_.erase(at);
        if (frame.kind == FrameKind::go_on) return decode_verdict(frame.body);
        return {decode_failure(frame.body), 0, {}};
      }
      detail::wait_readable(fd(), tick_s());
      turned();
      try {
        check();
      } catch (const Stopped&) {
      }
    }
  } catch (const RendezvousLost& lost) {
    if (own.rank == rank_) own.reason = fmt::format("{} (and {})", own.reason, lost.what());
    if (const auto* peer = dynamic_cast<const PeerLost*>(&error)) own.rank = peer->peer();
  }
  return {own, 0, {}};
}

std::string encode(const Verdict& verdict) {
  std::string out;
  detail::put_text(out, encode(verdict.failure));
  detail::put(out, verdict.noticed_s);
  for (const RankReport& report : verdict.reports) detail::put_text(out, encode(report));
  return out;
}

Verdict decode_verdict(std::string_view in) {
  Verdict verdict;
  verdict.failure = decode_failure(detail::take_text(in));
  verdict.noticed_s = detail::take<double>(in);
  while (!in.empty()) verdict.reports.push_back(decode_report(detail::take_text(in)));
  return verdict;
}

}  // namespace refit
