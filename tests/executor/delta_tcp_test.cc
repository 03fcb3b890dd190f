#include <chrono>
#include <csignal>
#include <cstddef>
#include <span>
#include <thread>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "tests/executor/delta_case.h"
#include "tests/executor/tcp_case.h"

namespace refit::test {
namespace {

// Ends its process with the first message of its third version of moves (the second after the
// anchor).
class Dying : public Tampering {
 public:
  using Tampering::Tampering;

 private:
  Message tamper(Message message) override {
    kill(getpid(), SIGKILL);
    return message;
  }
};

// Sends its first bytes when everybody else has long done so.
class Late : public Tampering {
 public:
  using Tampering::Tampering;

 private:
  Message tamper(Message message) override {
    if (message.bytes > 0 && !std::exchange(awake_, true))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return message;
  }
  bool awake_ = false;
};

std::string failure_of(const DeltaCase& c, const DeltaRunOptions& options, const TcpOptions& tcp) {
  try {
    execute_delta_tcp(c.schedule, c.refit, c.cluster, options, tcp);
  } catch (const RankFailure& failure) {
    return failure.what();
  }
  return "nothing happened";
}

DeltaCase small() { return delta_case({{1, 2, 0}, {1, 2, 1}, {32, 48}, Dtype::bf16, 2}); }

}  // namespace

TEST_CASE("tcp: twenty versions arrive bit for bit between processes", "[executor]") {
  const DeltaCase c = small();
  const DeltaMeasurement done =
      execute_delta_tcp(c.schedule, c.refit, c.cluster, versions(20), patient());
  REQUIRE(done.measurement.wrong_bytes == 0);
  REQUIRE(done.versions.size() == 21);
  for (const DeltaVersion& version : done.versions) {
    CHECK(version.prints_compared == 1);
    CHECK(version.prints_unequal == 0);
  }
  REQUIRE(done.measurement.iterations.size() == 20);
  for (const Iteration& iteration : done.measurement.iterations) CHECK(iteration.seconds > 0);
  // All ranks see the same payloads as threads of one process do.
  const DeltaMeasurement threads =
      execute_delta_inproc(c.schedule, c.refit, c.cluster, versions(20));
  CHECK(done.payload_bytes == threads.payload_bytes);
}

TEST_CASE("tcp: a store gives what it has got in the order in which it is asked", "[executor]") {
  // An engine asks for payload after payload, and the store sent those of a quick owner while it
  // had none of a slow one: they stood before what the engine waited for, on one connection.
  const DeltaCase c =
      delta_case({{1, 2, 0}, {2, 1, 0}, {32, 48}, Dtype::bf16, 1}, "delta_object_store");
  TcpOptions tcp = patient();
  tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
    if (rank == Rank(0)) return std::make_unique<Late>(std::move(real));
    return real;
  };
  const DeltaMeasurement done = execute_delta_tcp(c.schedule, c.refit, c.cluster, versions(1), tcp);
  CHECK(done.measurement.wrong_bytes == 0);
  CHECK(done.versions.back().prints_unequal == 0);
  CHECK(done.versions.back().changed > 0);
  const auto store = c.cluster.store_rank(0);
  CHECK(std::ranges::count(c.schedule.ops, store, &Op::dst) >= 8);
  CHECK(std::ranges::count(c.schedule.ops, store, &Op::src) ==
        2 * std::ranges::count(c.schedule.ops, store, &Op::dst));
}

TEST_CASE("tcp: a sender that is killed ends a run of versions with its name", "[executor]") {
  const DeltaCase c = small();
  TcpOptions tcp = patient();
  int made = 0;  // of each rank's own copy
  tcp.wrap = [&made](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
    if (rank == Rank(1) && ++made == 3) return std::make_unique<Dying>(std::move(real));
    return real;
  };
  const std::string said = failure_of(c, versions(5), tcp);
  CHECK_THAT(said, Catch::Contains("rank 1"));
  CHECK_THAT(said, Catch::Contains("killed by signal 9"));
}

TEST_CASE("tcp: a receiver that is killed in an apply ends the run with its name", "[executor]") {
  const DeltaCase c = small();
  DeltaRunOptions options = versions(3);
  options.applying = [](Rank rank, std::uint64_t version, std::span<std::byte>) {
    if (rank == Rank(3) && version == 2) kill(getpid(), SIGKILL);
  };
  const std::string said = failure_of(c, options, patient());
  CHECK_THAT(said, Catch::Contains("rank 3"));
  CHECK_THAT(said, Catch::Contains("killed by signal 9"));
}

TEST_CASE("tcp: a rank may work longer between two meetings than a loop may hang", "[executor]") {
  const DeltaCase c = small();
  DeltaRunOptions options = versions(1);
  bool has_worked = false;
  options.applying = [&](Rank rank, std::uint64_t, std::span<std::byte>) {
    if (rank == Rank(3) && !std::exchange(has_worked, true))
      std::this_thread::sleep_for(std::chrono::duration<double>(0.6 * kSlowdown));
  };
  TcpOptions tcp = patient();
  tcp.failure.timeout_s = 0.5 * kSlowdown;
  tcp.failure.stall_timeout_s = 0.2 * kSlowdown;
  CHECK(execute_delta_tcp(c.schedule, c.refit, c.cluster, options, tcp).measurement.wrong_bytes ==
        0);
}

TEST_CASE("tcp: a damaged payload comes again; one that stays so is said once, and not applied",
          "[executor]") {
  DeltaRunOptions options = versions(3);
  int damages = 2;  // of each rank's own copy
  options.arrived = [&](Rank rank, std::uint64_t version, std::size_t, std::string& payload) {
    if (rank == Rank(3) && version == 2 && !payload.empty() && damages-- > 0) payload[10] ^= 1;
  };
  const DeltaCase c = small();
  const DeltaMeasurement done =
      execute_delta_tcp(c.schedule, c.refit, c.cluster, options, patient());
  CHECK(done.measurement.wrong_bytes == 0);
  CHECK(done.versions[2].asked_again == 2);
  options.arrived = [](Rank rank, std::uint64_t version, std::size_t, std::string& payload) {
    if (rank == Rank(3) && version == 2 && !payload.empty()) payload[10] ^= 1;
  };
  const std::string said = failure_of(small(), options, patient());
  CHECK_THAT(said, Catch::Contains("version 2 is not applied"));
  CHECK_THAT(said, Catch::Contains("its head is damaged"));
}

}  // namespace refit::test
