#include "executor/rendezvous.h"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/check.h"
#include "executor/run_rank.h"

namespace refit {

using detail::Frame;
using detail::FrameKind;

namespace {

// How long a closed data connection may wait for its better known cause: the death of the process
// closes its control connection at the same moment.
constexpr double kSuspicionSeconds = 0.05;
constexpr double kHelloSeconds = 2;  // a stranger that says nothing is sent away
constexpr double kFlushSeconds = 0.2;

}  // namespace

Rendezvous::Rendezvous(int ranks, const FailureOptions& options)
    : options_(options),
      members_(static_cast<std::size_t>(ranks)),
      reports_(static_cast<std::size_t>(ranks)) {}

void Rendezvous::adopt(Rank rank, detail::Descriptor socket) {
  Member& member = members_[rank.index()];
  detail::make_nonblocking(socket);
  member.socket = std::move(socket);
  member.state = State::present;
  member.heard_s = member.turned_s = steady_clock_s();
}

void Rendezvous::admit(detail::Descriptor listener) {
  detail::make_nonblocking(listener);
  listener_ = std::move(listener);
}

std::optional<Failure> Rendezvous::serve(const Hooks& hooks) {
  hooks_ = &hooks;
  const double start = steady_clock_s();
  last_turn_s_ = start;
  for (Member& member : members_) member.heard_s = member.turned_s = start;
  while (true) {
    wait(options_.tick_s());
    const double now = steady_clock_s();
    // If this process itself was stopped, the others' silence means nothing.
    if (now - last_turn_s_ > options_.timeout_s / 2)
      for (Member& member : members_) member.heard_s = member.turned_s = now;
    last_turn_s_ = now;
    if (listener_) accept_strangers();
    for (std::size_t r = 0; r < members_.size(); ++r)
      if (members_[r].socket) read(Rank(static_cast<int>(r)));
    complete_meetings();
    if (!failure_ && now - start > options_.start_timeout_s) {
      std::string missing;
      for (std::size_t r = 0; r < members_.size(); ++r)
        if (members_[r].state == State::absent ||
            (members_[r].state == State::present && !members_[r].greeted))
          missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
      if (!missing.empty())
        fail({.rank = Rank(0),
              .phase = {},
              .move = {},
              .code = ErrorCode::environment,
              .reason = fmt::format("rank(s) {} of {} have not come to the rendezvous within {} s",
                                    missing, members_.size(), options_.start_timeout_s)});
    }
    if (!failure_) look_for_the_lost(now);
    send_beats(now);
    for (Member& member : members_) flush(member);
    if (failure_ && (all_reported() || now > reports_end_s_)) {
      if (!can_go_on()) return close();
      go_on();
    }
    if (!failure_ && std::ranges::all_of(members_, [](const Member& m) {
          return m.state == State::finished || m.state == State::dropped;
        }))
      return std::nullopt;
  }
}

void Rendezvous::wait(double seconds) {
  std::vector<pollfd> fds;
  for (const Member& member : members_) {
    if (!member.socket) continue;
    const int events = POLLIN | (member.unsent.empty() ? 0 : POLLOUT);
    fds.push_back({member.socket.get(), static_cast<short>(events), 0});
  }
  if (listener_) fds.push_back({listener_.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) fds.push_back({stranger.socket.get(), POLLIN, 0});
  // A suspicion ends sooner than a tick.
  if (!suspicions_.empty()) seconds = std::min(seconds, kSuspicionSeconds / 2);
  poll(fds.data(), fds.size(), static_cast<int>(seconds * 1e3) + 1);
}

void Rendezvous::accept_strangers() {
  while (true) {
    detail::Descriptor socket(
        accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) break;
    strangers_.push_back({std::move(socket), {}, steady_clock_s()});
  }
  std::vector<Stranger> waiting;
  for (Stranger& stranger : strangers_) {
    bool open = stranger.reader.fill(stranger.socket.get());
    std::optional<Frame> frame;
    try {
      frame = stranger.reader.next();
    } catch (const Error&) {
      open = false;  // not one of ours: a port scan, a browser
    }
    if (frame && frame->kind == FrameKind::hello) {
      introduce(std::move(stranger), frame->body);
    } else if (open && !frame && steady_clock_s() - stranger.since_s < kHelloSeconds) {
      waiting.push_back(std::move(stranger));
    }
  }
  strangers_ = std::move(waiting);
}

void Rendezvous::introduce(Stranger stranger, std::string_view hello) {
  Rank rank;
  std::int32_t ranks = 0;
  try {
    rank = detail::take<Rank>(hello);
    ranks = detail::take<std::int32_t>(hello);
  } catch (const Error&) {
    return;
  }
  const auto refuse = [&](const std::string& reason) {
    fail({.rank = rank,
          .phase = RankPhase::starting,
          .move = {},
          .code = ErrorCode::bad_input,
          .reason = reason});
    // The odd one out must hear it, too; it is no member and sends no report.
    const std::string verdict = detail::encode(FrameKind::verdict, encode(*failure_));
    ::send(stranger.socket.get(), verdict.data(), verdict.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  };
  if (ranks != static_cast<std::int32_t>(members_.size()))
    return refuse(
        fmt::format("it was started as one of {} ranks, the others as {}", ranks, members_.size()));
  if (rank.value < 0 || rank.index() >= members_.size())
    return refuse(fmt::format("there are only ranks 0 to {}", members_.size() - 1));
  if (members_[rank.index()].state != State::absent)
    return refuse("two processes say that they are this rank");
  Member& member = members_[rank.index()];
  member.socket = std::move(stranger.socket);
  member.reader = std::move(stranger.reader);
  member.state = State::present;
  member.greeted = true;
  member.heard_s = member.turned_s = steady_clock_s();
  if (failure_) send(member, FrameKind::stop, {});
}

void Rendezvous::read(Rank rank) {
  Member& member = members_[rank.index()];
  bool open = false;
  try {
    open = member.reader.fill(member.socket.get());
    while (auto frame = member.reader.next()) handle(rank, *frame);
  } catch (const Error& error) {
    fail({.rank = rank,
          .phase = member.beat.phase,
          .move = {},
          .code = error.code(),
          .reason = error.what()});
    open = false;
  }
  if (open) return;
  member.socket.close();
  member.unsent.clear();
  if (member.state == State::finished) return;
  const bool already = failure_.has_value();
  member.state = State::gone;
  if (already) return;
  std::string text = hooks_->exit_text(rank);
  if (text.empty()) text = "its control connection has closed";
  fail({.rank = rank,
        .phase = member.beat.phase,
        .move = {},
        .code = ErrorCode::environment,
        .reason = text});
}

void Rendezvous::handle(Rank rank, const Frame& frame) {
  Member& member = members_[rank.index()];
  const double now = steady_clock_s();
  member.heard_s = now;
  member.greeted = true;
  std::string_view in = frame.body;
  switch (frame.kind) {
    case FrameKind::beat: {
      const auto beat = detail::take<Beat>(in);
      const bool is_waiting = beat.phase == RankPhase::moving || beat.phase == RankPhase::waiting;
      if (beat.turns != member.beat.turns || beat.phase != member.beat.phase || !is_waiting)
        member.turned_s = now;
      member.beat = beat;
      break;
    }
    case FrameKind::gather:
      member.blob = frame.body;
      break;
    case FrameKind::arrive:
      member.arrived = true;
      break;
    case FrameKind::result:
      hooks_->result(rank, frame.body);
      break;
    case FrameKind::failed: {
      const Failure seen = decode_failure(frame.body);
      const bool is_rank = seen.rank.value >= 0 && seen.rank.index() < members_.size();
      if (seen.rank == rank || (is_rank && members_[seen.rank.index()].state == State::dropped)) {
        fail(seen);
      } else if (is_rank) {
        if (suspicions_.empty()) suspicions_end_s_ = now + kSuspicionSeconds;
        suspicions_.push_back({rank, seen});
      }
      break;
    }
    case FrameKind::report:
      reports_[rank.index()] = decode_report(frame.body);
      break;
    case FrameKind::finished:
      member.state = State::finished;
      break;
    default:
      break;  // hello of an adopted rank
  }
}

void Rendezvous::look_for_the_lost(double now) {
  for (std::size_t r = 0; r < members_.size(); ++r) {
    const Member& member = members_[r];
    if (member.state != State::present || !member.greeted) continue;
    const Rank rank(static_cast<int>(r));
    std::string reason;
    if (now - member.heard_s > options_.silence_s()) {
      reason = fmt::format("not heard from for {:.2f} s", now - member.heard_s);
    } else if (now - member.turned_s > options_.stall_timeout_s) {
      reason = fmt::format("its loop has not turned for {:.1f} s", now - member.turned_s);
    } else {
      continue;
    }
    fail({.rank = rank,
          .phase = member.beat.phase,
          .move = {},
          .code = ErrorCode::environment,
          .reason = reason});
    return;
  }
  if (!suspicions_.empty() && now > suspicions_end_s_) fail(most_suspected());
}

// The rank that is an end of most of the broken connections; of two, the one that did not tell.
Failure Rendezvous::most_suspected() const {
  std::vector<int> broken(members_.size(), 0);
  for (const Suspicion& s : suspicions_) {
    ++broken[s.witness.index()];
    ++broken[s.failure.rank.index()];
  }
  const int most = *std::ranges::max_element(broken);
  const auto told = std::ranges::find_if(
      suspicions_, [&](const Suspicion& s) { return broken[s.failure.rank.index()] == most; });
  Failure failure = told != suspicions_.end() ? told->failure : suspicions_.front().failure;
  if (told == suspicions_.end()) {
    failure.rank = std::ranges::find_if(suspicions_, [&](const Suspicion& s) {
                     return broken[s.witness.index()] == most;
                   })->witness;
  }
  failure.phase = members_[failure.rank.index()].beat.phase;
  return failure;
}

void Rendezvous::complete_meetings() {
  const auto all = [&](auto&& there) {
    return std::ranges::all_of(
        members_, [&](const Member& m) { return m.state == State::dropped || there(m); });
  };
  if (all([](const Member& m) { return m.blob.has_value(); })) {
    std::string blobs;
    for (Member& member : members_) {
      detail::put_text(blobs, member.blob.value_or(""));
      member.blob.reset();
    }
    for (Member& member : members_) send(member, FrameKind::gathered, blobs);
  }
  if (all([](const Member& m) { return m.arrived; })) {
    // Late enough that every rank knows it before: all start at once, not one after the other.
    std::string start;
    detail::put(start, steady_clock_s() + 100e-6 + 10e-6 * static_cast<double>(members_.size()));
    for (Member& member : members_) {
      member.arrived = false;
      send(member, FrameKind::go, start);
    }
  }
}

void Rendezvous::send(Member& member, FrameKind kind, std::string_view body) {
  if (!member.socket) return;
  member.unsent += detail::encode(kind, body);
  flush(member);
}

void Rendezvous::flush(Member& member) {
  while (member.socket && !member.unsent.empty()) {
    const ssize_t n = ::send(member.socket.get(), member.unsent.data(), member.unsent.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) return;  // full, or closed: then reading tells
    member.unsent.erase(0, static_cast<std::size_t>(n));
  }
}

void Rendezvous::send_beats(double now) {
  if (now < next_beat_s_) return;
  next_beat_s_ = now + options_.tick_s();
  for (Member& member : members_) {
    // A rank that reads nothing (it fills content) gets no more than its socket takes.
    if (member.state == State::present && member.unsent.empty()) send(member, FrameKind::beat, {});
  }
}

void Rendezvous::fail(Failure failure) {
  if (failure_) return;
  failure_ = std::move(failure);
  noticed_s_ = steady_clock_s();
  reports_end_s_ = noticed_s_ + options_.timeout_s;
  for (Member& member : members_) send(member, FrameKind::stop, {});
}

bool Rendezvous::all_reported() const {
  for (std::size_t r = 0; r < members_.size(); ++r) {
    const bool expected =
        members_[r].state == State::present && Rank(static_cast<int>(r)) != failure_->rank;
    if (expected && !reports_[r]) return false;
  }
  return true;
}

bool Rendezvous::can_go_on() const {
  // Wrong content or wrong input is no loss: there, going on would hide a mistake.
  if (went_on_ || !hooks_->drop || failure_->code != ErrorCode::environment) return false;
  std::optional<std::int32_t> iteration;
  for (std::size_t r = 0; r < members_.size(); ++r) {
    if (Rank(static_cast<int>(r)) == failure_->rank) continue;
    if (members_[r].state != State::present || !reports_[r] || !reports_[r]->resumable)
      return false;
    if (iteration.value_or(*reports_[r]->resumable) != *reports_[r]->resumable) return false;
    iteration = reports_[r]->resumable;
  }
  return iteration.has_value();
}

void Rendezvous::go_on() {
  name_the_move();
  hooks_->drop(failure_->rank);
  Member& lost = members_[failure_->rank.index()];
  lost.socket.close();
  lost.unsent.clear();
  lost.state = State::dropped;
  Verdict verdict{*failure_, noticed_s_, {}};
  for (const auto& report : reports_) {
    verdict.reports.push_back(report.value_or(RankReport{}));
    verdict.reports.back().open.clear();
  }
  // Whatever a survivor has sent before its report belongs to what is over.
  const std::string body = encode(verdict);
  for (Member& member : members_) {
    member.blob.reset();
    member.arrived = false;
    send(member, FrameKind::go_on, body);
  }
  reports_.assign(members_.size(), std::nullopt);
  suspicions_.clear();
  failure_.reset();
  went_on_ = true;
}

// The op that the lost rank was in: what the others had open with it, else what it said itself.
void Rendezvous::name_the_move() {
  if (!failure_->move) {
    for (const auto& report : reports_) {
      if (!report) continue;
      for (const RankReport::Open& open : report->open) {
        if (open.peer == failure_->rank && (!failure_->move || open.move < *failure_->move))
          failure_->move = open.move;
      }
    }
  }
  if (!failure_->move && failure_->rank.value >= 0 && failure_->rank.index() < members_.size()) {
    const Beat& beat = members_[failure_->rank.index()].beat;
    if (beat.phase == RankPhase::moving && beat.move != ~std::uint64_t{0})
      failure_->move = static_cast<std::uint32_t>(beat.move);
  }
}

Failure Rendezvous::close() {
  name_the_move();
  // A move of the survivors' own plan means nothing to who knows the first plan only.
  if (went_on_ && members_[failure_->rank.index()].state != State::dropped) failure_->move.reset();
  // A TCP connection closed with bytes unread (beats) is reset, and the verdict might be lost: wait
  // until the others have closed, but not for one that does not answer.
  const double end = steady_clock_s() + kFlushSeconds;
  for (Member& member : members_) send(member, FrameKind::verdict, encode(*failure_));
  while (steady_clock_s() < end) {
    bool any = false;
    for (std::size_t r = 0; r < members_.size(); ++r) {
      Member& member = members_[r];
      if (!member.socket) continue;
      flush(member);
      if (!member.reader.fill(member.socket.get())) member.socket.close();
      any = any || (member.socket && (reports_[r] || !member.unsent.empty()));
    }
    if (!any) break;
    wait(kFlushSeconds / 10);
  }
  for (Member& member : members_) member.socket.close();
  listener_.close();
  strangers_.clear();
  return *failure_;
}

}  // namespace refit
