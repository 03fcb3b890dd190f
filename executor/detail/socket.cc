#include "executor/detail/socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"

namespace refit::detail {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_until(Clock::time_point end) {
  return std::max(0.0, std::chrono::duration<double>(end - Clock::now()).count());
}

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

sockaddr_in resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (status != 0) {
    throw Error(ErrorCode::environment,
                fmt::format("{}: no IPv4 address ({})", host, gai_strerror(status)));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  freeaddrinfo(found);
  return address;
}

Descriptor tcp_socket(const SocketOptions& options) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw Error(ErrorCode::environment, fmt::format("TCP socket: {}", last_error()));
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // Before connect and listen, so that the window scale fits; accepted sockets inherit all three.
  if (options.buffer_bytes > 0) {
    const int bytes = options.buffer_bytes;
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  const std::string& name = options.congestion_control;
  if (!name.empty()) {
    setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
               static_cast<socklen_t>(name.size()));
  }
  return socket;
}

sockaddr_in own_name(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string last_error() { return std::system_category().message(errno); }

Descriptor listen_on(const std::string& host, int port, const SocketOptions& options) {
  const sockaddr_in address = resolve(host, port);
  Descriptor socket = tcp_socket(options);
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0) {
    throw Error(ErrorCode::environment,
                fmt::format("can't listen on {}:{}: {}", host, port, last_error()));
  }
  return socket;
}

bool answers(const std::string& host, double timeout_s) {
  constexpr int kDiscard = 9;  // where nobody listens
  const sockaddr_in address = resolve(host, kDiscard);
  const Descriptor socket = tcp_socket({});
  make_nonblocking(socket);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return true;
  if (errno != EINPROGRESS) return errno == ECONNREFUSED;
  pollfd wait{socket.get(), POLLOUT, 0};
  if (poll(&wait, 1, static_cast<int>(timeout_s * 1e3) + 1) <= 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 || error == ECONNREFUSED;
}

Descriptor connect_to(const std::string& host, int port, const SocketOptions& options,
                      double timeout_s) {
  const sockaddr_in address = resolve(host, port);
  const auto end = after(timeout_s);
  while (true) {
    Descriptor socket = tcp_socket(options);
    make_nonblocking(socket);
    int error = 0;
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      error = errno;
    if (error == EINPROGRESS) {
      pollfd wait{socket.get(), POLLOUT, 0};
      const int ready = poll(&wait, 1, static_cast<int>(seconds_until(end) * 1e3) + 1);
      socklen_t size = sizeof error;
      if (ready > 0) {
        getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      } else {
        error = ETIMEDOUT;
      }
    }
    if (error == 0) {
      // Blocking again, as socket() made it.
      fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
      return socket;
    }
    const bool nobody_yet = error == ECONNREFUSED || error == ECONNRESET || error == EINTR;
    if (!nobody_yet || seconds_until(end) == 0) {
      errno = error;
      throw Error(ErrorCode::environment, fmt::format("can't connect to {}:{} within {} s: {}",
                                                      host, port, timeout_s, last_error()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

int port_of(const Descriptor& socket) { return ntohs(own_name(socket).sin_port); }

std::string local_address_of(const Descriptor& socket) {
  const sockaddr_in address = own_name(socket);
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

std::pair<Descriptor, Descriptor> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ErrorCode::environment, fmt::format("socketpair: {}", last_error()));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void make_nonblocking(const Descriptor& socket) {
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
}

bool wait_readable(int fd, double timeout_s) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(timeout_s * 1e3) + 1) > 0;
}

bool read_exactly(int fd, void* to, std::size_t bytes, double timeout_s) {
  const auto end = after(timeout_s);
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    if (seconds_until(end) == 0) return false;
    if (!wait_readable(fd, seconds_until(end))) continue;
    const ssize_t n = recv(fd, at, bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (n < 0) continue;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace refit::detail
