#include "executor/detail/open_links.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <set>

#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "executor/detail/frame.h"
#include "executor/run_rank.h"

namespace refit::detail {
namespace {

constexpr double kHelloSeconds = 1;  // a stranger that says nothing is sent away

// The first bytes of a connection: whose it is. The cookie keeps out other jobs and strangers.
struct Hello {
  std::uint64_t cookie = 0;
  Rank rank;
  std::int32_t lane = 0;
};

// What every rank knows about every rank.
struct Address {
  std::uint64_t cookie = 0;
  std::string boot;  // of the kernel that it runs under
  struct End {
    std::string host;
    std::int32_t port = 0;  // 0: nobody connects there
  };
  End ends[2];  // by NIC, by NVLink
};

std::string encode(const Address& address) {
  std::string out;
  put(out, address.cookie);
  put_text(out, address.boot);
  for (const Address::End& end : address.ends) {
    put_text(out, end.host);
    put(out, end.port);
  }
  return out;
}

Address decode(std::string_view in) {
  Address address;
  address.cookie = take<std::uint64_t>(in);
  address.boot = take_text(in);
  for (Address::End& end : address.ends) {
    end.host = take_text(in);
    end.port = take<std::int32_t>(in);
  }
  return address;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::uint64_t new_cookie() {
  std::random_device random;
  return static_cast<std::uint64_t>(random()) << 32 | random();
}

class Opener {
 public:
  Opener(RankControl& control, const RankNetwork& network, const std::vector<LinkNeed>& needs,
         const SocketOptions& options)
      : control_(control), network_(network), needs_(needs), options_(options) {}

  OpenLinks open() {
    listen();
    std::vector<Address> book;
    result_.one_host = !own_.boot.empty();
    for (const std::string& blob : control_.all_gather(encode(own_))) {
      book.push_back(blob.empty() ? Address{} : decode(blob));  // a lost rank has none
      if (blob.empty()) continue;
      if (cookie_ == 0) cookie_ = book.back().cookie;  // the first survivor's
      result_.one_host = result_.one_host && book.back().boot == own_.boot;
    }
    // Peers listen already, and the kernel takes connections before anyone accepts them: all may
    // connect first and accept then.
    for (const LinkNeed& need : needs_)
      if (need.peer < control_.rank()) connect(need, book[need.peer.index()].ends[need.by_nvlink]);
    accept();
    return std::move(result_);
  }

 private:
  void listen() {
    own_.cookie = new_cookie();
    own_.boot = boot_id();
    for (const LinkNeed& need : needs_) {
      if (need.peer < control_.rank()) continue;
      expected_.insert({need.peer, need.lane});
      const auto side = static_cast<std::size_t>(need.by_nvlink);
      if (listeners_[side]) continue;
      const std::string host = network_.address(control_.rank(), need.by_nvlink);
      listeners_[side] = listen_on(host, 0, options_);
      make_nonblocking(listeners_[side]);
      own_.ends[side] = {host, port_of(listeners_[side])};
    }
  }

  void connect(const LinkNeed& need, const Address::End& end) {
    Descriptor socket =
        connect_to(end.host, end.port, options_, control_.options().start_timeout_s);
    const Hello hello{cookie_, control_.rank(), need.lane};
    if (::send(socket.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
      throw PeerLost(need.peer, {},
                     fmt::format("connecting to rank {}: {}", need.peer.value, last_error()));
    result_.links.push_back({std::move(socket), need.peer, need.lane});
  }

  void accept() {
    const double end = steady_clock_s() + control_.options().start_timeout_s;
    while (!expected_.empty()) {
      pollfd fds[3] = {{control_.fd(), POLLIN, 0},
                       {listeners_[0].get(), POLLIN, 0},
                       {listeners_[1].get(), POLLIN, 0}};  // poll skips negative ones
      poll(fds, 3, static_cast<int>(control_.tick_s() * 1e3) + 1);
      control_.turned();
      control_.check();
      for (const Descriptor& listener : listeners_)
        if (listener) accept_from(listener);
      if (steady_clock_s() < end || expected_.empty()) continue;
      throw PeerLost(expected_.begin()->first, {},
                     fmt::format("rank {} has not connected to rank {} within {} s",
                                 expected_.begin()->first.value, control_.rank().value,
                                 control_.options().start_timeout_s));
    }
  }

  void accept_from(const Descriptor& listener) {
    while (true) {
      Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      Hello hello;
      if (!read_exactly(socket.get(), &hello, sizeof hello, kHelloSeconds)) continue;
      if (hello.cookie != cookie_ || expected_.erase({hello.rank, hello.lane}) == 0) continue;
      result_.links.push_back({std::move(socket), hello.rank, hello.lane});
    }
  }

  RankControl& control_;
  const RankNetwork& network_;
  const std::vector<LinkNeed>& needs_;
  const SocketOptions& options_;
  Address own_;
  Descriptor listeners_[2];
  std::uint64_t cookie_ = 0;
  std::set<std::pair<Rank, int>> expected_;
  OpenLinks result_;
};

}  // namespace

OpenLinks open_links(RankControl& control, const RankNetwork& network,
                     const std::vector<LinkNeed>& needs, const SocketOptions& options) {
  return Opener(control, network, needs, options).open();
}

}  // namespace refit::detail
