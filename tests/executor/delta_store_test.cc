#include <mutex>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "executor/object_store/published_version.h"
#include "executor/object_store/s3_store.h"
#include "tests/executor/delta_case.h"
#include "tests/executor/memory_store.h"

namespace refit::test {
namespace {

// One memory store for all ranks of a process.
class SharedStore : public ObjectStore {
 public:
  SharedStore(std::mutex& mutex, std::map<std::string, std::string>& objects)
      : mutex_(mutex), store_(objects) {}
  void put(const std::string& key, std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    store_.put(key, bytes);
  }
  std::string get(const std::string& key, std::uint64_t first, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    return store_.get(key, first, bytes);
  }
  std::string get_all(const std::string& key, std::uint64_t most_bytes) override {
    const std::lock_guard lock(mutex_);
    return store_.get_all(key, most_bytes);
  }

 private:
  std::mutex& mutex_;
  MemoryStore store_;
};

// A server that gives these answers in turn, each on a connection of its own.
class Answers {
 public:
  explicit Answers(std::vector<std::string> answers) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    REQUIRE(listen(socket_, 8) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) {
        const int connection = accept(socket_, nullptr, nullptr);
        std::string request;
        char buffer[4096];
        while (request.find("\r\n\r\n") == std::string::npos) {
          const ssize_t got = read(connection, buffer, sizeof buffer);
          if (got <= 0) break;
          request.append(buffer, static_cast<std::size_t>(got));
        }
        if (write(connection, answer.data(), answer.size()) < 0) break;
        close(connection);
      }
    });
  }
  ~Answers() {
    thread_.join();
    close(socket_);
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/bucket", port_); }

 private:
  int socket_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

S3Options hasty() {
  S3Options options;
  options.attempts = 3;
  options.first_pause_s = 0.001;
  return options;
}

}  // namespace

TEST_CASE("store: a busy server and half an answer are asked again, a refusal is not",
          "[executor]") {
  const std::string busy =
      "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  const std::string half =
      "HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\nConnection: close\r\n\r\n01234";
  const std::string whole =
      "HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789";
  const std::string refusal =
      "HTTP/1.1 403 Forbidden\r\nContent-Length: 40\r\nConnection: close\r\n\r\n"
      "<Error><Code>AccessDenied</Code></Error>";
  {
    const Answers server({busy, half, whole});
    S3Store store(server.url(), hasty());
    CHECK(store.get("x", 0, 10) == "0123456789");
    CHECK(store.counts().retries == 2);
  }
  {
    const Answers server({busy, busy, busy});
    S3Store store(server.url(), hasty());
    CHECK_THROWS_WITH(store.put("x", "1"), Catch::Contains("status 503, 3 times"));
  }
  {
    const Answers server({refusal});
    S3Store store(server.url(), hasty());
    CHECK_THROWS_WITH(store.get_all("x", 10), Catch::Contains("status 403"));
    CHECK(store.counts().requests == 1);
  }
}

TEST_CASE("store: versions through an object store arrive bit for bit", "[executor]") {
  const DeltaCase c = delta_case({{2, 2, 0}, {2, 4, 1}, {48, 64}, Dtype::bf16, 4});
  std::mutex mutex;
  std::map<std::string, std::string> objects;
  DeltaRunOptions options = versions(5);
  options.store = [&] { return std::make_unique<SharedStore>(mutex, objects); };
  const DeltaMeasurement done = execute_delta_inproc(c.schedule, c.refit, c.cluster, options);
  REQUIRE(done.measurement.wrong_bytes == 0);
  REQUIRE(done.versions.size() == 6);
  for (const DeltaVersion& version : done.versions) CHECK(version.prints_unequal == 0);
  int manifests = 0;
  std::uint64_t bytes = 0;  // of the last version's payloads
  for (const auto& [key, object] : objects) {
    if (key.ends_with("/manifest")) ++manifests;
    if (key.find("/5/owner-") != std::string::npos) bytes += object.size();
  }
  CHECK(manifests == 6);
  CHECK(bytes == done.versions.back().payload_bytes);
  // Written once and read by both replicas of the engine.
  CHECK(done.versions.back().work.wire_bytes == 3 * bytes);
}

TEST_CASE("store: what storage has spoilt comes from its owner", "[executor]") {
  // Each version's objects are damaged when they are put: a bit, the end, or the manifest.
  class Rotten : public SharedStore {
   public:
    using SharedStore::SharedStore;
    void put(const std::string& key, std::string_view bytes) override {
      std::string spoilt(bytes);
      if (key.find("/1/owner-") != std::string::npos) spoilt.back() ^= 1;
      if (key.find("/2/owner-") != std::string::npos) spoilt.resize(spoilt.size() - 1);
      if (key.find("/3/manifest") != std::string::npos) spoilt[20] ^= 1;
      SharedStore::put(key, spoilt);
    }
  };
  const DeltaCase c = delta_case({{1, 2, 0}, {2, 1, 0}, {32, 48}, Dtype::bf16, 1});
  std::mutex mutex;
  std::map<std::string, std::string> objects;
  DeltaRunOptions options = versions(4);
  options.store = [&] { return std::make_unique<Rotten>(mutex, objects); };
  const DeltaMeasurement done = execute_delta_inproc(c.schedule, c.refit, c.cluster, options);
  CHECK(done.measurement.wrong_bytes == 0);
  REQUIRE(done.versions.size() == 5);
  for (const std::size_t v : {1, 2, 3}) CHECK(done.versions[v].asked_again > 0);
  CHECK(done.versions[4].asked_again == 0);
}

TEST_CASE("store: a manifest is read back, and every cut and every flipped bit is noticed",
          "[executor]") {
  Manifest manifest;
  manifest.base_version = 3;
  manifest.target_version = 4;
  manifest.chunks = {{0, 2, 0, 10, 77}, {5, 2, 10, 0, 78}};
  const std::string text = write_manifest(manifest);
  const Manifest again = read_manifest(text, "x");
  CHECK(again.target_version == 4);
  REQUIRE(again.chunks.size() == 2);
  CHECK(again.chunks[1].first == 10);
  for (std::size_t n = 0; n < text.size(); ++n)
    CHECK_THROWS_AS(read_manifest(text.substr(0, n), "x"), Error);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    CHECK_THROWS_AS(read_manifest(flipped, "x"), Error);
  }
}

TEST_CASE("store: an address that is no bucket is refused, and a server that is away is named",
          "[executor]") {
  for (const char* url : {"127.0.0.1:9000/bucket", "http://127.0.0.1:9000", "http://h/",
                          "ftp://h/bucket", "http://h/bucket?x"}) {
    CAPTURE(url);
    CHECK_THROWS_WITH(S3Store(url, {}),
                      Catch::Contains("expected http://HOST[:PORT]/BUCKET[/PREFIX]"));
  }
  S3Options options;
  options.attempts = 2;
  options.first_pause_s = 0.001;
  S3Store away("http://127.0.0.1:9/bucket", options);  // discard: nobody listens there
  CHECK_THROWS_WITH(away.put("x", "1"), Catch::Contains("PUT http://127.0.0.1:9/bucket/x: ") &&
                                            Catch::Contains(", 2 times"));
  CHECK(away.counts().retries == 1);
}

}  // namespace refit::test
