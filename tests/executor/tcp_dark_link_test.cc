#include <catch2/catch.hpp>

#include <chrono>
#include <cstring>
#include <string>

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/detail/frame.h"
#include "executor/detail/socket.h"
#include "tests/executor/tcp_case.h"

namespace refit::test {
namespace {

// Loopback of the network namespace that this process is in.
bool set_loopback(bool up) {
  const detail::Descriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return false;
  request.ifr_flags =
      static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  return ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// Takes the link away under all ranks: no packet arrives any more, and none says so.
class Dark : public Tampering {
 public:
  using Tampering::Tampering;

 private:
  void after_wait(const std::vector<Ended>&) override {
    if (!done_) set_loopback(false);
    done_ = true;
  }
  bool done_ = false;
};

std::string run_in_the_dark() {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !set_loopback(true)) return "skip";
  // 64 MiB, far more than fits between two sockets.
  PlanOptions plan_options;
  plan_options.chunks = 16;
  const TcpCase c =
      planned({{1, 1, 0}, {1, 1, 1}, {8192, 4096}, Dtype::bf16, 1}, "direct", plan_options);
  TcpOptions tcp;
  tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
    if (rank != Rank(1)) return real;
    return std::make_unique<Dark>(std::move(real));
  };
  try {
    run(c, once(), tcp);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("tcp: a link that goes dark is noticed by what is never acknowledged",
          "[executor][tcp][fault]") {
  // A process of its own: it leaves the network that everybody else is in.
  auto [here, there] = detail::socket_pair();
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string text = run_in_the_dark();
    const auto written = write(there.get(), text.data(), text.size());
    _exit(written > 0 ? 0 : 1);
  }
  there.close();
  std::string text;
  char part[512];
  for (ssize_t n = 0; (n = read(here.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  waitpid(pid, nullptr, 0);
  if (text == "skip") {
    WARN("skipped: network namespaces are refused here");
    return;
  }
  // Only the sender has bytes on the way.
  REQUIRE_THAT(
      text, Catch::StartsWith("rank 1, round ") && Catch::Contains("(transfer 0 -> 1, ") &&
                Catch::Contains("the link from rank 0 to rank 1 is dark: no acknowledgement for "));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  REQUIRE(took.count() < 3 * kSlowdown);
}

}  // namespace refit::test
