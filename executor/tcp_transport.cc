#include "executor/tcp_transport.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "executor/run_rank.h"

namespace refit {
namespace {

constexpr std::size_t kBufferBytes = 256 << 10;
constexpr double kLooks = 2.5;                // ticks; longer than an answer to a probe takes
constexpr double kKernelClockSeconds = 0.01;  // grain of the kernel's times, at 100 Hz
constexpr double kTickWithoutControl = 1;     // seconds
constexpr std::size_t kMostEvents = 64;

std::uint64_t key(int lane, Rank peer) {
  return static_cast<std::uint64_t>(lane) << 32 | static_cast<std::uint32_t>(peer.value);
}

void watch(int epoll, int fd, std::uint32_t events, void* whose) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = whose;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    throw Error(ErrorCode::environment, fmt::format("epoll: {}", detail::last_error()));
}

}  // namespace

TcpTransport::TcpTransport(Rank self, std::vector<TcpLink> links, std::size_t moves,
                           RankControl* control)
    : self_(self),
      control_(control),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      received_((moves + 63) / 64),
      buffer_(kBufferBytes) {
  if (control_) watch(epoll_.get(), control_->fd(), EPOLLIN, nullptr);
  for (TcpLink& link : links) {
    auto c = std::make_unique<Connection>();
    c->socket = std::move(link.socket);
    c->peer = link.peer;
    c->lane = link.lane;
    detail::make_nonblocking(c->socket);
    // Edge-triggered: each connection remembers what it may still do, so that no call is needed to
    // say whether this rank wants to read (a parked message) or write.
    watch(epoll_.get(), c->socket.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c.get());
    const bool is_new = at_.emplace(key(c->lane, c->peer), c.get()).second;
    REFIT_CHECK(is_new);
    connections_.push_back(std::move(c));
  }
}

TcpTransport::~TcpTransport() = default;

void TcpTransport::begin(std::uint32_t epoch) {
  REFIT_CHECK(open_.empty());
  epoch_ = epoch;
  std::ranges::fill(received_, 0);
}

TcpTransport::Connection& TcpTransport::connection(int lane, Rank peer) {
  const auto found = at_.find(key(lane, peer));
  REFIT_CHECK(found != at_.end());
  return *found->second;
}

void TcpTransport::activate(Connection& c) {
  if (c.listed) return;
  c.listed = true;
  active_.push_back(&c);
}

// Both only note what is to do: wait() does it for many small messages in one system call.
void TcpTransport::send(Message message) {
  Connection& c = connection(message.lane, message.peer);
  const bool is_new = open_.emplace(message.move, &c).second;
  REFIT_CHECK(is_new);
  c.out.push(std::move(message), epoch_);
  if (c.writable) activate(c);
}

void TcpTransport::receive(Message message) {
  Connection& c = connection(message.lane, message.peer);
  const bool is_new = open_.emplace(message.move, &c).second;
  REFIT_CHECK(is_new && message.move / 64 < received_.size());
  posted_.emplace(message.move, std::move(message));
  activate(c);
}

void TcpTransport::wait(std::vector<Ended>& ended) {
  REFIT_CHECK(!open_.empty());
  is_waiting_ = true;
  while (true) {
    if (control_) control_->turned();
    turn_all();
    if (!ended_.empty()) break;
    take_events(true);
  }
  // Some connection has more than its turn allows: the others must not starve meanwhile.
  if (!active_.empty()) take_events(false);
  account();
  ended.insert(ended.end(), ended_.begin(), ended_.end());
  ended_.clear();
  accounted_ = 0;
  // Busy loops pass here without ever waiting; they must hear of a stop, too.
  if (steady_clock_s() >= next_tick_s_) tick();
  is_waiting_ = false;
  if (control_) control_->stands(false);
}

void TcpTransport::account() {
  for (; accounted_ < ended_.size(); ++accounted_) {
    const Ended& e = ended_[accounted_];
    open_.erase(e.move);
    if (!e.sent) received_[e.move / 64] |= std::uint64_t{1} << (e.move % 64);
  }
}

void TcpTransport::turn_all() {
  turning_.swap(active_);
  if (control_ && !turning_.empty()) control_->progressed();
  for (Connection* c : turning_) {
    c->listed = false;
    turn(*c);
  }
  turning_.clear();
}

void TcpTransport::turn(Connection& c) {
  if (c.writable && !c.out.empty()) {
    try {
      if (c.out.flush(c.socket.get(), ended_) == detail::SendStream::Status::full)
        c.writable = false;
    } catch (const Error& error) {
      lose(c, fmt::format("the connection between ranks {} and {} broke: {}", self_.value,
                          c.peer.value, error.what()));
    }
  }
  if (c.readable || c.in.is_parked() || c.closed) read(c);
}

void TcpTransport::read(Connection& c) {
  using Status = detail::ReceiveStream::Status;
  const auto find = [&](const detail::WireHeader& header) { return match(c, header); };
  Status status = Status::drained;
  try {
    status = c.in.read(c.socket.get(), buffer_, c.hung_up, find, ended_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::environment) throw;
    lose(c, fmt::format("the connection between ranks {} and {} broke: {}", self_.value,
                        c.peer.value, error.what()));
  }
  if (status == Status::drained) c.readable = false;
  if (status == Status::more) activate(c);
  if (status != Status::closed) return;
  c.readable = false;
  c.closed = true;
  account();
  // A peer that is through closes, too: only what is still to come is missed.
  if (c.in.in_message() || oldest_with(&c))
    lose(c, fmt::format("rank {} has closed its connection to rank {} in the middle of the refit",
                        c.peer.value, self_.value));
}

std::optional<Message> TcpTransport::match(const Connection& c, const detail::WireHeader& header) {
  if (header.epoch != epoch_) {
    throw WrongMessage(header.move,
                       fmt::format("rank {} sends a message of iteration {} in iteration {}",
                                   c.peer.value, header.epoch, epoch_));
  }
  const auto posted = posted_.find(header.move);
  if (posted == posted_.end()) return std::nullopt;
  Message& message = posted->second;
  if (message.peer != c.peer || message.lane != c.lane) {
    throw WrongMessage(header.move,
                       fmt::format("it comes from rank {} on lane {}, not from rank {} on lane {}",
                                   c.peer.value, c.lane, message.peer.value, message.lane));
  }
  if (header.offset != 0 || header.length != static_cast<std::uint64_t>(message.bytes)) {
    throw WrongMessage(header.move,
                       fmt::format("rank {} sends {} bytes and rank {} expects {}", c.peer.value,
                                   header.length, self_.value, message.bytes));
  }
  std::optional<Message> result(std::move(message));
  posted_.erase(posted);
  return result;
}

void TcpTransport::take_events(bool may_block) {
  const double left_s = next_tick_s_ - steady_clock_s();
  const int timeout_ms =
      may_block && active_.empty() && left_s > 0 ? static_cast<int>(std::ceil(left_s * 1e3)) : 0;
  epoll_event events[kMostEvents];
  const int count = epoll_wait(epoll_.get(), events, kMostEvents, timeout_ms);
  if (count < 0 && errno != EINTR)
    throw Error(ErrorCode::environment, fmt::format("epoll: {}", detail::last_error()));
  for (int i = 0; i < count; ++i) {
    auto* c = static_cast<Connection*>(events[i].data.ptr);
    if (c == nullptr) {
      control_->check();
      continue;
    }
    const std::uint32_t what = events[i].events;
    if (what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) c->hung_up = true;
    if (((what & EPOLLIN) || c->hung_up) && !c->closed) c->readable = true;
    if (what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) c->writable = true;
    if (c->readable || (c->writable && !c->out.empty())) activate(*c);
  }
  // After a look at what has come, so that a rank with something to do does not stand still.
  if (left_s <= 0) tick();
}

void TcpTransport::tick() {
  next_tick_s_ = steady_clock_s() + (control_ ? control_->tick_s() : kTickWithoutControl);
  if (!control_) return;
  control_->turned();
  control_->working_on(oldest_with(nullptr));
  control_->check();
  check_links();
}

// TCP_USER_TIMEOUT would do this in the kernel, but it also ends a connection whose receiver holds
// the window shut for long, and that is how a receiver here makes a sender wait. Behind a shut
// window the kernel sends probes, ever more rarely, and answers at most two of them a second
// (tcp_invalid_ratelimit), so that silence alone means nothing. A link is dark if data stays
// without answer for the time-out, or if nothing has been heard for the time-out and two probes in
// a row stay without answer. The latter may take longer than the time-out. Data is asked about from
// the last that was sent or answered before the first look that found it. An answer may be as late
// as the queues before it are deep (the round trip that the kernel has measured), and a receiver
// that was put off its processor in the middle of reading answers when it is back on it (the
// patience).
void TcpTransport::check_links() {
  if (!control_) return;
  const double now = steady_clock_s();
  const double since_last_s = now - last_links_s_;
  if (since_last_s < control_->tick_s() * 0.9) return;
  last_links_s_ = now;
  // Between two looks far apart much may have come and gone.
  const double unseen_s = std::max(0.0, since_last_s - 2 * control_->tick_s());
  const FailureOptions& options = control_->options();
  const double patience_s =
      options.silence_s() - options.tick_s() / 2 - options.suspicion_s() + control_->patience_s();
  bool under_way = false;
  for (const auto& c : connections_) {
    tcp_info state{};
    socklen_t size = sizeof state;
    if (getsockopt(c->socket.get(), IPPROTO_TCP, TCP_INFO, &state, &size) != 0) continue;
    under_way = under_way || state.tcpi_unacked > 0;
    const bool probing = state.tcpi_probes >= 2;
    if (!probing && state.tcpi_unacked == 0) {
      c->asked_s.reset();
      continue;
    }
    const double heard_s = now - state.tcpi_last_ack_recv * 1e-3;
    const double sent_s = now - state.tcpi_last_data_sent * 1e-3;
    if (!c->asked_s || heard_s > *c->asked_s + kKernelClockSeconds)
      c->asked_s = probing ? now : std::max(sent_s, heard_s);
    *c->asked_s += unseen_s;
    if (probing && now - *c->asked_s <= kLooks * control_->tick_s()) continue;
    const double silence_s = probing ? state.tcpi_last_ack_recv * 1e-3 : now - *c->asked_s;
    const double round_trip_s = (state.tcpi_rtt + 4.0 * state.tcpi_rttvar) * 1e-6;
    if (silence_s > patience_s + round_trip_s) {
      lose(*c,
           fmt::format("the link from rank {} to rank {} is dark: no acknowledgement for {:.2f} s",
                       self_.value, c->peer.value, silence_s));
    }
  }
  control_->stands(!under_way && (!is_waiting_ || active_.empty()));
}

std::optional<std::uint32_t> TcpTransport::oldest_with(const Connection* c) const {
  std::optional<std::uint32_t> oldest;
  for (const auto& [move, on] : open_) {
    if (c != nullptr && on != c) continue;
    if (!oldest || move < *oldest) oldest = move;
  }
  return oldest;
}

void TcpTransport::lose(const Connection& c, const std::string& why) const {
  throw PeerLost(c.peer, oldest_with(&c), why);
}

RankReport TcpTransport::report() {
  account();  // a turn that threw may have ended messages before
  RankReport report;
  report.received = received_;
  for (const auto& [move, on] : open_) report.open.push_back({move, on->peer});
  std::ranges::sort(report.open, {}, &RankReport::Open::move);
  return report;
}

}  // namespace refit
