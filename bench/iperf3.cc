#include "bench/iperf3.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "executor/detail/socket.h"

namespace refit::bench {
namespace {

// A server that ends after one test, or with its owner.
class Server {
 public:
  explicit Server(const std::string& port) : pid_(fork()) {
    if (pid_ != 0) return;
    const int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(nowhere, fd);
    execlp("iperf3", "iperf3", "-s", "-1", "-p", port.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  ~Server() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  pid_t pid_;
};

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char part[4096];
  while (const std::size_t n = fread(part, 1, sizeof part, pipe)) text.append(part, n);
  pclose(pipe);
  return text;
}

int free_port() {
  return detail::port_of(detail::listen_on("127.0.0.1", 0, detail::SocketOptions{}));
}

}  // namespace

bool has_iperf3() { return std::system("iperf3 --version > /dev/null 2>&1") == 0; }

double iperf3_bytes_per_s(int streams) {
  const std::string port = std::to_string(free_port());
  const Server server(port);
  std::string text;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const timespec pause{0, 50'000'000};  // the server takes a moment to listen
    nanosleep(&pause, nullptr);
    text = output_of(
        fmt::format("iperf3 -c 127.0.0.1 -p {} -P {} -t 1 -J 2> /dev/null", port, streams));
    const auto report = nlohmann::json::parse(text, nullptr, false);
    const nlohmann::json::json_pointer rate("/end/sum_received/bits_per_second");
    if (!report.is_discarded() && report.contains(rate)) return report[rate].get<double>() / 8;
  }
  throw Error(ErrorCode::environment, fmt::format("iperf3 does not work here: {}", text));
}

}  // namespace refit::bench
