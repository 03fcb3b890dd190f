#include "executor/rendezvous.h"

#include <algorithm>
#include <cmath>

#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "executor/run_rank.h"

namespace refit {

using detail::Frame;
using detail::FrameKind;

Rendezvous::Rendezvous(int ranks, const FailureOptions& options)
    : options_(options),
      members_(static_cast<std::size_t>(ranks)),
      lateness_(options.memory_s()),
      reports_(static_cast<std::size_t>(ranks)) {}

void Rendezvous::adopt(Rank rank, detail::Descriptor socket) {
  Member& member = members_[rank.index()];
  detail::make_nonblocking(socket);
  member.socket = std::move(socket);
  member.state = State::present;
}

void Rendezvous::admit(detail::Descriptor listener, std::string job) {
  reception_.emplace(std::move(listener), std::move(job));
}

std::optional<Failure> Rendezvous::serve(const Hooks& hooks) {
  hooks_ = &hooks;
  start_s_ = steady_clock_s();
  for (Member& member : members_) member.heard_s = member.turned_s = start_s_;
  while (true) {
    wait(options_.tick_s());
    if (reception_)
      for (auto& guest : reception_->look()) introduce(std::move(guest));
    for (std::size_t r = 0; r < members_.size(); ++r)
      if (members_[r].socket) read(Rank(static_cast<int>(r)));
    complete_meetings();
    const double now = steady_clock_s();
    if (!failure_) look_for_the_absent(now);
    if (!failure_) look_for_the_lost(now);
    if (!failure_) look_for_standstill(now);
    send_beats(now);
    for (Member& member : members_) flush(member);
    if (failure_ && (all_reported() || now > reports_end_s_)) {
      resolve_doubt();
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
  if (reception_) reception_->watch(fds);
  // A suspicion ends sooner than a tick.
  if (!suspicions_.empty())
    seconds = std::clamp(suspicions_end_s_ - steady_clock_s(), 0.0, seconds);
  const int milliseconds = static_cast<int>(std::ceil(seconds * 1e3));
  const double due_s = steady_clock_s() + milliseconds * 1e-3;
  poll(fds.data(), fds.size(), milliseconds);
  const double now = steady_clock_s();
  lateness_.add(now, now - due_s);
}

void Rendezvous::introduce(detail::Reception::Guest guest) {
  const Rank rank = guest.introduction.rank;
  const auto refuse = [&](const std::string& reason) {
    fail({.rank = rank,
          .phase = RankPhase::starting,
          .move = {},
          .code = ErrorCode::bad_input,
          .reason = reason});
    // The odd one out must hear it, too; it is no member and sends no report.
    const std::string verdict = detail::encode(FrameKind::verdict, encode(*failure_));
    ::send(guest.socket.get(), verdict.data(), verdict.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  };
  if (guest.introduction.ranks != static_cast<std::int32_t>(members_.size()))
    return refuse(fmt::format("it was started as one of {} ranks, the others as {}",
                              guest.introduction.ranks, members_.size()));
  if (rank.value < 0 || rank.index() >= members_.size())
    return refuse(fmt::format("there are only ranks 0 to {}", members_.size() - 1));
  if (members_[rank.index()].state != State::absent)
    return refuse("two processes say that they are this rank");
  Member& member = members_[rank.index()];
  member.socket = std::move(guest.socket);
  member.reader = std::move(guest.reader);
  member.state = State::present;
  member.greeted = true;
  member.heard_s = member.turned_s = steady_clock_s();
  if (failure_) send(member, FrameKind::stop, {});
}

void Rendezvous::read(Rank rank) {
  Member& member = members_[rank.index()];
  bool open = false;
  try {
    const std::uint64_t before = member.reader.received();
    open = member.reader.fill(member.socket.get());
    // Also a part of a long message is a sign of life.
    if (member.reader.received() > before) member.heard_s = steady_clock_s();
    while (auto frame = member.reader.next()) handle(rank, *frame);
  } catch (const Error& error) {
    lose(rank, error.code(), error.what());
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
  lose(rank, ErrorCode::environment, std::move(text));
}

void Rendezvous::handle(Rank rank, const Frame& frame) {
  Member& member = members_[rank.index()];
  member.greeted = true;
  std::string_view in = frame.body;
  switch (frame.kind) {
    case FrameKind::beat: {
      const auto beat = detail::take<Beat>(in);
      const double now = steady_clock_s();
      const bool is_waiting = beat.phase == RankPhase::moving || beat.phase == RankPhase::waiting;
      if (beat.turns != member.beat.turns || beat.phase != member.beat.phase || !is_waiting)
        member.turned_s = now;
      const bool is_still = is_waiting && beat.stands != 0 && beat.phase == member.beat.phase &&
                            beat.progress == member.beat.progress;
      if (!is_still) member.still_from_s = now;
      if (!is_still || beat.turns != member.beat.turns) member.still_to_s = now;
      lateness_.add(now, beat.late_s);
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
    case FrameKind::failed:
      suspect(rank, decode_failure(frame.body));
      break;
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
  std::string body;
  detail::put(body, lateness_.worst_s(now));
  for (Member& member : members_) {
    // A rank that reads nothing (it fills content) gets no more than its socket takes.
    if (member.state == State::present && member.unsent.empty())
      send(member, FrameKind::beat, body);
  }
}

}  // namespace refit
