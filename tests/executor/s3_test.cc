// A real client against a real server on loopback: moto's, which speaks S3 (pip install
// 'moto[server]'). Where it is not installed the tests say so and test nothing.
#include <csignal>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "executor/object_store/s3_store.h"
#include "tests/executor/delta_case.h"

extern char** environ;

namespace refit::test {
namespace {

constexpr int kPatience = 60;  // seconds for a busy machine to start Python

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// One that nobody has now; the server is told to take it.
std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  REQUIRE(bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(socket);
  return ntohs(address.sin_port);
}

bool answers(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  const bool connected =
      connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return connected;
}

class Server {
 public:
  Server() : port_(free_port()) {
    const std::string port = std::to_string(port_);
    const char* arguments[] = {"moto_server", "-H", "127.0.0.1", "-p", port.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error = posix_spawnp(&process_, arguments[0], &actions, nullptr,
                                   const_cast<char* const*>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      process_ = 0;
      why_not_ = "no moto_server here (pip install 'moto[server]')";
      return;
    }
    for (int turn = 0; turn < 20 * kPatience; ++turn) {
      if (answers(port_)) return;
      if (waitpid(process_, nullptr, WNOHANG) == process_) {
        process_ = 0;
        why_not_ = "moto_server ends at once; is moto[server] complete?";
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    why_not_ = "moto_server does not answer";
  }
  ~Server() {
    if (process_ == 0) return;
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& why_not() const { return why_not_; }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/weights/run-1", port_); }

 private:
  std::uint16_t port_;
  pid_t process_ = 0;
  std::string why_not_;
};

S3Options options() {
  S3Options options;
  options.access_key = "tester";
  options.secret_key = "secret";
  options.part_bytes = 5 << 20;  // the least that S3 takes
  return options;
}

}  // namespace

TEST_CASE("s3: objects, parts, ranges and versions by a real server", "[executor][s3]") {
  const Server server;
  if (!server.why_not().empty()) {
    WARN("skipped: " << server.why_not());
    return;
  }
  S3Store store(server.url(), options());
  CHECK_THROWS_WITH(store.put("early", "x"), Catch::Contains("NoSuchBucket"));
  store.create_bucket();
  store.create_bucket();  // is fine

  store.put("small", "0123456789");
  CHECK(store.get("small", 3, 4) == "3456");
  CHECK(store.get_all("small", 100) == "0123456789");
  CHECK_THROWS_WITH(store.get("small", 8, 4), Catch::Contains("the object is shorter"));
  CHECK_THROWS_WITH(store.get_all("missing", 100), Catch::Contains("NoSuchKey"));
  store.put("small", "again");
  CHECK(store.get_all("small", 100) == "again");

  // 12 MiB in parts of 5 MiB are three.
  std::string large(12 << 20, '\0');
  std::mt19937 random(7);
  for (char& byte : large) byte = static_cast<char>(random());
  store.put("large", large);
  CHECK(store.counts().parts == 3);
  CHECK(store.get("large", (5 << 20) - 10, 20) == large.substr((5 << 20) - 10, 20));
  CHECK(store.get("large", 0, large.size()) == large);
  CHECK(store.counts().retries == 0);

  const DeltaCase c = delta_case({{1, 2, 0}, {2, 2, 1}, {48, 64}, Dtype::bf16, 2});
  DeltaRunOptions run = versions(3);
  run.store = [&] { return std::make_unique<S3Store>(server.url(), options()); };
  const DeltaMeasurement done = execute_delta_inproc(c.schedule, c.refit, c.cluster, run);
  CHECK(done.measurement.wrong_bytes == 0);
  CHECK(done.versions.size() == 4);
  for (const DeltaVersion& version : done.versions) CHECK(version.prints_unequal == 0);
}

}  // namespace refit::test
