#include "tests/fakes/fake_door.h"

#include <cstring>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <poll.h>
#include <sys/socket.h>

namespace refit::fake {
namespace {

constexpr double kHelloSeconds = 5;
constexpr double kKnockSeconds = 0.2;  // a door is there before anybody knows of it

// The NIC that a lab gives to a rank, from the range for benchmarks; else loopback, so that nothing
// leaves the machine.
std::string own_address() {
  std::string result = "127.0.0.1";
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return result;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    const in_addr address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    if (ntohl(address.s_addr) >> 16 != (198u << 8 | 18u)) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &address, text, sizeof text);
    result = text;
    break;
  }
  freeifaddrs(all);
  return result;
}

}  // namespace

Door::Door() {
  const std::string host = own_address();
  listener_ = detail::listen_on(host, 0, {});
  detail::make_nonblocking(listener_);
  std::strncpy(place_.host, host.c_str(), sizeof place_.host - 1);
  place_.port = detail::port_of(listener_);
  std::tie(wake_, woken_) = detail::socket_pair();
  thread_ = std::thread([this] { serve(); });
}

Door::~Door() {
  wake_.close();
  thread_.join();
}

void Door::serve() {
  while (true) {
    pollfd fds[] = {{woken_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    poll(fds, 2, -1);
    if (fds[0].revents != 0) return;
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) continue;
    Knock hello;
    if (!detail::read_exactly(socket.get(), &hello, sizeof hello, kHelloSeconds)) continue;
    const std::lock_guard lock(mutex_);
    came_[hello] = std::move(socket);
  }
}

std::optional<Descriptor> Door::take(const Knock& knock) {
  const std::lock_guard lock(mutex_);
  const auto found = came_.find(knock);
  if (found == came_.end()) return std::nullopt;
  Descriptor socket = std::move(found->second);
  came_.erase(found);
  return socket;
}

Descriptor knock(const Place& place, const Knock& knock) {
  Descriptor socket = detail::connect_to(place.host, place.port, {}, kKnockSeconds);
  send(socket.get(), &knock, sizeof knock, MSG_NOSIGNAL);
  return socket;
}

}  // namespace refit::fake
