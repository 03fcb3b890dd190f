#include "executor/detail/lab_flow.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "executor/detail/lab_namespace.h"
#include "executor/run_rank.h"
#include "executor/token_bucket.h"

namespace refit::detail {
namespace {

// Of all flows together, and of one at least: a lone fast flow must not stop while this process
// waits for its turn on a busy machine.
constexpr int kAllWindowsBytes = 2 * 1024 * 1024;
constexpr int kWindowBytes = 256 * 1024;
constexpr std::size_t kCallBytes = 256 * 1024;
constexpr std::size_t kShapedCallBytes = 16 * 1024;  // small next to a burst
constexpr double kWarmUpShare = 0.2;                 // burst credit and slow start

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::environment, fmt::format("lab: {}: {}", what, std::strerror(errno)));
}

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    if (fd_ < 0) fail("socket");
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Fixed buffers make a window-limited, lossless network; cubic because the system's default may be
// one that paces by its own estimate.
Socket make_socket(int window_bytes) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUF, &window_bytes, sizeof window_bytes);
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &window_bytes, sizeof window_bytes);
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  return socket;
}

sockaddr_in endpoint(const std::string& address, in_port_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = port;
  inet_pton(AF_INET, address.c_str(), &result.sin_addr);
  return result;
}

const sockaddr* plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

struct Sample {
  double at_s = 0;
  double bytes = 0;
};

struct Connection {
  Socket sender, receiver;
  TokenBucket* out = nullptr;  // shared by all flows of the port
  TokenBucket* in = nullptr;
  double received = 0;
  Sample first, last;  // after the warm-up; taken right after bytes came in
};

Connection connect_flow(Lab& lab, const LabFlow& flow, int window_bytes) {
  const NamespaceVisit visit;
  lab.enter(flow.dst);
  const Socket listener = make_socket(window_bytes);
  sockaddr_in to = endpoint(lab.address(flow.dst, flow.by_nvlink), 0);
  socklen_t size = sizeof to;
  if (bind(listener.fd(), plain(to), sizeof to) != 0) fail("bind");
  if (listen(listener.fd(), 1) != 0) fail("listen");
  if (getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&to), &size) != 0) fail("getsockname");

  lab.enter(flow.src);
  Socket sender = make_socket(window_bytes);
  const sockaddr_in from = endpoint(lab.address(flow.src, flow.by_nvlink), 0);
  if (bind(sender.fd(), plain(from), sizeof from) != 0) fail("bind");
  if (connect(sender.fd(), plain(to), sizeof to) != 0) {
    fail(fmt::format("rank {} to rank {}: connect", flow.src.value, flow.dst.value).c_str());
  }
  Socket receiver(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  return {std::move(sender), std::move(receiver), nullptr, nullptr, 0, {}, {}};
}

std::size_t room(TokenBucket* bucket, double now_s) {
  if (bucket == nullptr) return kCallBytes;
  return std::min(kShapedCallBytes, static_cast<std::size_t>(bucket->available(now_s)));
}

void took(TokenBucket* bucket, ssize_t bytes) {
  if (bucket != nullptr) bucket->take(bytes);
}

class Pump {
 public:
  Pump(Lab& lab, std::span<const LabFlow> flows) : buffer_(kCallBytes) {
    const int window =
        std::max(kWindowBytes, kAllWindowsBytes / std::max(1, static_cast<int>(flows.size())));
    for (const LabFlow& flow : flows) {
      Connection& made = connections_.emplace_back(connect_flow(lab, flow, window));
      made.out = bucket(flow.src, flow.by_nvlink, true, flow.out_bytes_per_s);
      made.in = bucket(flow.dst, flow.by_nvlink, false, flow.in_bytes_per_s);
    }
  }

  std::vector<double> run(double seconds) {
    const double begin_s = steady_clock_s();
    double now_s = begin_s;
    std::size_t first = 0;
    for (; now_s < begin_s + seconds; now_s = steady_clock_s()) {
      bool moved = false;
      // Another one first in each round: the first gets the tokens of a shared bucket.
      ++first;
      for (std::size_t i = 0; i < connections_.size(); ++i) {
        Connection& connection = connections_[(first + i) % connections_.size()];
        moved |= send_some(connection, now_s);
        moved |= receive_some(connection, begin_s + kWarmUpShare * seconds);
      }
      // The buffers hold more than comes in meanwhile, so that a nap costs no rate.
      constexpr timespec kNap{0, 100'000};
      if (!moved) nanosleep(&kNap, nullptr);
    }
    std::vector<double> rates;
    for (const Connection& c : connections_) {
      const double span_s = c.last.at_s - c.first.at_s;
      rates.push_back(span_s > 0 ? (c.last.bytes - c.first.bytes) / span_s : 0);
    }
    return rates;
  }

 private:
  TokenBucket* bucket(Rank rank, bool by_nvlink, bool out, double bytes_per_s) {
    if (bytes_per_s <= 0) return nullptr;
    const auto key = std::tuple(rank, by_nvlink, out);
    return &buckets_.try_emplace(key, bytes_per_s, steady_clock_s()).first->second;
  }

  bool send_some(Connection& c, double now_s) {
    const std::size_t size = room(c.out, now_s);
    if (size == 0) return false;
    const ssize_t n = send(c.sender.fd(), buffer_.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail("send");
    if (n <= 0) return false;
    took(c.out, n);
    return true;
  }

  bool receive_some(Connection& c, double measured_from_s) {
    const std::size_t size = room(c.in, steady_clock_s());
    if (size == 0) return false;
    const ssize_t n = recv(c.receiver.fd(), buffer_.data(), size, MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail("recv");
    if (n <= 0) return false;
    took(c.in, n);
    c.received += static_cast<double>(n);
    const Sample sample{steady_clock_s(), c.received};
    if (sample.at_s < measured_from_s) return true;
    if (c.first.at_s == 0) c.first = sample;
    c.last = sample;
    return true;
  }

  std::vector<char> buffer_;
  std::map<std::tuple<Rank, bool, bool>, TokenBucket> buckets_;
  std::vector<Connection> connections_;
};

}  // namespace

std::vector<double> flow_rates(Lab& lab, std::span<const LabFlow> flows, double seconds) {
  return Pump(lab, flows).run(seconds);
}

}  // namespace refit::detail
