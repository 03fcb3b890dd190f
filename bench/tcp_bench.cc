// TCP transport on loopback, against a plain loop over one socket and against iperf3, and what a
// small message costs.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "bench/interleaved.h"
#include "bench/iperf3.h"
#include "executor/detail/socket.h"
#include "executor/tcp_transport.h"

namespace {

using namespace refit;
using namespace refit::bench;

constexpr std::int64_t kBytes = 1 << 30;
constexpr int kRepeats = 7;

using Sockets = std::vector<detail::Descriptor>;

struct Connections {
  Sockets near, far;
};

Connections connected(int streams) {
  const detail::SocketOptions options;
  const auto listener = detail::listen_on("127.0.0.1", 0, options);
  Connections c;
  for (int i = 0; i < streams; ++i) {
    c.near.push_back(detail::connect_to("127.0.0.1", detail::port_of(listener), options, 5));
    c.far.emplace_back(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  return c;
}

// Seconds that `receive` takes, from when both processes are ready.
double timed(int streams, const std::function<void(Sockets)>& send,
             const std::function<void(Sockets)>& receive) {
  Connections c = connected(streams);
  auto [here, there] = detail::socket_pair();
  const pid_t pid = fork();
  if (pid == 0) {
    c.far.clear();
    char go = 0;
    detail::read_exactly(there.get(), &go, 1, 60);
    send(std::move(c.near));
    _exit(0);
  }
  c.near.clear();
  const double seconds = seconds_of([&] {
    if (::send(here.get(), "g", 1, 0) == 1) receive(std::move(c.far));
  });
  waitpid(pid, nullptr, 0);
  return seconds;
}

std::unique_ptr<TcpTransport> transport(int self, Sockets sockets, std::size_t moves) {
  std::vector<TcpLink> links;
  for (std::size_t lane = 0; lane < sockets.size(); ++lane)
    links.push_back({std::move(sockets[lane]), Rank(1 - self), static_cast<int>(lane)});
  return std::make_unique<TcpTransport>(Rank(self), std::move(links), moves);
}

struct Messages {
  std::uint32_t count = 1;
  bool all_at_once = true;  // or each after the one before has ended
  int streams = 1;          // messages take turns on them
};

// Each message is the whole of `box`.
void exchange(bool sending, Sockets sockets, const StridedBox& box, const Messages& messages) {
  const auto t = transport(sending ? 0 : 1, std::move(sockets), messages.count);
  std::vector<Ended> ended;
  for (std::uint32_t i = 0; i < messages.count; ++i) {
    Message m;
    m.move = i;
    m.peer = Rank(sending ? 1 : 0);
    m.lane = static_cast<int>(i) % messages.streams;
    m.bytes = box.bytes();
    m.boxes = {box};
    sending ? t->send(std::move(m)) : t->receive(std::move(m));
    while (!messages.all_at_once && ended.size() <= i) t->wait(ended);
  }
  while (ended.size() < messages.count) t->wait(ended);
}

double exchange_s(const StridedBox& from, const StridedBox& to, const Messages& messages) {
  return timed(
      messages.streams, [&](Sockets s) { exchange(true, std::move(s), from, messages); },
      [&](Sockets s) { exchange(false, std::move(s), to, messages); });
}

double plain_s(std::span<std::byte> from, std::span<std::byte> to) {
  return timed(
      1,
      [&](Sockets s) {
        for (std::size_t at = 0; at < from.size();) {
          const ssize_t n = ::send(s[0].get(), from.data() + at, from.size() - at, MSG_NOSIGNAL);
          if (n <= 0) return;
          at += static_cast<std::size_t>(n);
        }
      },
      [&](Sockets s) {
        for (std::size_t at = 0; at < to.size();) {
          const ssize_t n = ::recv(s[0].get(), to.data() + at, to.size() - at, 0);
          if (n <= 0) return;
          at += static_cast<std::size_t>(n);
        }
      });
}

// Shared, so that a fork does not make every page a copy-on-write fault.
std::span<std::byte> shared_memory(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw Error(ErrorCode::environment, "no memory for the benchmark");
  std::memset(at, 1, bytes);
  return {static_cast<std::byte*>(at), bytes};
}

double gb_per_s(std::int64_t bytes, const Timing& t) {
  return static_cast<double>(bytes) / t.best_s * 1e-9;
}

void print_rate(const std::string& what, std::int64_t bytes, const Timing& t,
                const std::string& beside = "") {
  fmt::print("{:<50}{:>7.2f} GB/s, spread {:>3.0f}%{}\n", what, gb_per_s(bytes, t),
             100 * t.spread(), beside);
}

// Both sides keep to memory that stays in the cache, as iperf3 does.
void print_streams(const StridedBox& from, const StridedBox& to) {
  const bool has = has_iperf3();
  if (!has)
    fmt::print("iperf3 is not installed (Debian package iperf3): nothing to compare with\n");
  for (const int streams : {1, 2, 4}) {
    const Messages messages{.count = 4096, .streams = streams};
    const std::int64_t bytes = from.bytes() * messages.count;
    std::vector<std::function<double()>> runs{[&] { return exchange_s(from, to, messages); }};
    if (has)
      runs.push_back([&] { return static_cast<double>(bytes) / iperf3_bytes_per_s(streams); });
    const auto t = interleaved(kRepeats, runs);
    print_rate(
        fmt::format("{} streams, {} messages of 1 MiB", streams, messages.count), bytes, t[0],
        has ? fmt::format("  {:.2f} of iperf3's {:.2f} GB/s, spread {:.0f}%",
                          t[1].best_s / t[0].best_s, gb_per_s(bytes, t[1]), 100 * t[1].spread())
            : "");
  }
}

void print_runs(std::byte* from, std::byte* to) {
  constexpr std::int64_t kPart = 256 << 20;
  for (const std::int64_t run : {8192, 1024, 128, 16, 2}) {
    // Every other run, on both sides.
    const StridedBox a{from, run, {{kPart / run, 2 * run}}}, b{to, run, {{kPart / run, 2 * run}}};
    const auto t = interleaved(kRepeats, {[&] { return exchange_s(a, b, {}); }});
    print_rate(fmt::format("one message, 256 MiB in runs of {} B", run), kPart, t[0]);
  }
}

void print_small(std::byte* from, std::byte* to) {
  constexpr std::uint32_t kCount = 10000;
  const StridedBox a = contiguous(from, 1), b = contiguous(to, 1);
  for (const bool all_at_once : {true, false}) {
    const Messages messages{.count = kCount, .all_at_once = all_at_once};
    const auto t = interleaved(kRepeats, {[&] { return exchange_s(a, b, messages); }});
    fmt::print("{:<50}{:>7.2f} us each, spread {:>3.0f}%\n",
               fmt::format("{} messages of 1 B, {}", kCount,
                           all_at_once ? "posted together" : "one after the other"),
               t[0].best_s / kCount * 1e6, 100 * t[0].spread());
  }
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto from = shared_memory(kBytes), to = shared_memory(kBytes);
  const StridedBox a = contiguous(from.data(), kBytes), b = contiguous(to.data(), kBytes);
  const StridedBox piece_a = contiguous(from.data(), 1 << 20),
                   piece_b = contiguous(to.data(), 1 << 20);
  fmt::print(
      "Two processes, socket buffers 256 KiB, cubic; best of {}, spread: median above best\n\n",
      kRepeats);
  print_streams(piece_a, piece_b);
  fmt::print("\n");
  const auto t = interleaved(
      kRepeats, {[&] { return plain_s(from, to); }, [&] { return exchange_s(a, b, {}); }});
  print_rate("plain send and recv, 1 GiB", kBytes, t[0]);
  print_rate("one message, 1 GiB", kBytes, t[1],
             fmt::format("  {:.2f} of plain", t[0].best_s / t[1].best_s));
  print_runs(from.data(), to.data());
  fmt::print("\n");
  print_small(from.data(), to.data());
  return 0;
}
