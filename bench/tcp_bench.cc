// TCP transport on loopback against a plain loop over one socket, and what a small message costs.

#include <algorithm>
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
#include "executor/detail/socket.h"
#include "executor/run_rank.h"
#include "executor/tcp_transport.h"

namespace {

using namespace refit;

constexpr std::int64_t kBytes = 1 << 30;
constexpr int kRepeats = 5;

struct Sockets {
  detail::Descriptor near, far;
};

Sockets connected() {
  const detail::SocketOptions options;
  const auto listener = detail::listen_on("127.0.0.1", 0, options);
  Sockets s;
  s.near = detail::connect_to("127.0.0.1", detail::port_of(listener), options, 5);
  s.far = detail::Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return s;
}

// Seconds that `receive` takes, from when both processes are ready.
double timed(const std::function<void(detail::Descriptor)>& send,
             const std::function<void(detail::Descriptor)>& receive) {
  Sockets s = connected();
  auto [here, there] = detail::socket_pair();
  const pid_t pid = fork();
  if (pid == 0) {
    s.far.close();
    char go = 0;
    detail::read_exactly(there.get(), &go, 1, 60);
    send(std::move(s.near));
    _exit(0);
  }
  s.near.close();
  const double begin = steady_clock_s();
  if (::send(here.get(), "g", 1, 0) != 1) return 0;
  receive(std::move(s.far));
  const double seconds = steady_clock_s() - begin;
  waitpid(pid, nullptr, 0);
  return seconds;
}

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// Medians of runs in turn, so that what else happens on the machine hits all alike.
std::vector<double> medians(const std::vector<std::function<double()>>& runs) {
  std::vector<std::vector<double>> seconds(runs.size());
  for (int i = 0; i < kRepeats; ++i) {
    for (std::size_t r = 0; r < runs.size(); ++r) seconds[r].push_back(runs[r]());
  }
  std::vector<double> result;
  for (auto& of_run : seconds) result.push_back(median(std::move(of_run)));
  return result;
}

std::unique_ptr<TcpTransport> transport(int self, detail::Descriptor socket, std::size_t moves) {
  std::vector<TcpLink> links;
  links.push_back({std::move(socket), Rank(1 - self), 0});
  return std::make_unique<TcpTransport>(Rank(self), std::move(links), moves);
}

// `count` messages, each the whole of `box`: all at once, or each after the one before has ended.
void exchange(bool sending, detail::Descriptor socket, const StridedBox& box, std::uint32_t count,
              bool all_at_once) {
  const auto t = transport(sending ? 0 : 1, std::move(socket), count);
  std::vector<Ended> ended;
  for (std::uint32_t i = 0; i < count; ++i) {
    Message m;
    m.move = i;
    m.peer = Rank(sending ? 1 : 0);
    m.bytes = box.bytes();
    m.boxes = {box};
    sending ? t->send(std::move(m)) : t->receive(std::move(m));
    while (!all_at_once && ended.size() <= i) t->wait(ended);
  }
  while (ended.size() < count) t->wait(ended);
}

double exchange_s(const StridedBox& from, const StridedBox& to, std::uint32_t count,
                  bool all_at_once) {
  return timed(
      [&](detail::Descriptor s) { exchange(true, std::move(s), from, count, all_at_once); },
      [&](detail::Descriptor s) { exchange(false, std::move(s), to, count, all_at_once); });
}

double plain_once_s(std::span<std::byte> from, std::span<std::byte> to) {
  return timed(
      [&](detail::Descriptor s) {
        for (std::size_t at = 0; at < from.size();) {
          const ssize_t n = ::send(s.get(), from.data() + at, from.size() - at, MSG_NOSIGNAL);
          if (n <= 0) return;
          at += static_cast<std::size_t>(n);
        }
      },
      [&](detail::Descriptor s) {
        for (std::size_t at = 0; at < to.size();) {
          const ssize_t n = ::recv(s.get(), to.data() + at, to.size() - at, 0);
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

double rate(double seconds) { return static_cast<double>(kBytes) / seconds * 1e-9; }

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto from = shared_memory(kBytes), to = shared_memory(kBytes);
  const StridedBox a = contiguous(from.data(), kBytes), b = contiguous(to.data(), kBytes);
  const StridedBox piece_a = contiguous(from.data(), 1 << 20),
                   piece_b = contiguous(to.data(), 1 << 20);
  fmt::print("TCP on loopback, two processes, socket buffers 256 KiB, cubic; median of {}\n",
             kRepeats);
  const auto s =
      medians({[&] { return plain_once_s(from, to); }, [&] { return exchange_s(a, b, 1, true); },
               [&] { return exchange_s(piece_a, piece_b, 1024, true); }});
  fmt::print("{:<44}{:8.2f} GB/s\n", "plain send and recv, 1 GiB", rate(s[0]));
  fmt::print("{:<44}{:8.2f} GB/s  {:.2f} of plain\n", "one message, 1 GiB", rate(s[1]),
             s[0] / s[1]);
  fmt::print("{:<44}{:8.2f} GB/s\n", "1024 messages of 1 MiB, same memory", rate(s[2]));
  for (const std::int64_t run : {8192, 1024, 128, 16, 2}) {
    // The first half of every row of 64 MiB, on both sides.
    const std::int64_t rows = (32 << 20) / run;
    const StridedBox sa{from.data(), run, {{rows, 2 * run}}}, sb{to.data(), run, {{rows, 2 * run}}};
    const double seconds = medians({[&] { return exchange_s(sa, sb, 1, true); }})[0];
    fmt::print("{:<44}{:8.2f} GB/s\n", fmt::format("one message, 32 MiB in runs of {} B", run),
               rate(seconds) / 32);
  }
  const StridedBox byte_a = contiguous(from.data(), 1), byte_b = contiguous(to.data(), 1);
  const auto small = medians({[&] { return exchange_s(byte_a, byte_b, 10000, true); },
                              [&] { return exchange_s(byte_a, byte_b, 10000, false); }});
  fmt::print("{:<44}{:8.2f} us each\n", "10000 messages of 1 B, posted together", small[0] * 1e2);
  fmt::print("{:<44}{:8.2f} us each\n", "10000 messages of 1 B, one after the other",
             small[1] * 1e2);
  return 0;
}
