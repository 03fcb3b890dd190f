#include <catch2/catch.hpp>

#include <cstring>
#include <random>

#include "schedule/verify.h"
#include "tests/executor/tcp_case.h"
#include "tests/support/small_refits.h"

namespace refit::test {
namespace {

// The bytes of a message in a buffer of their own.
std::vector<std::byte> bytes_of(const Message& message) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(message.bytes));
  const StridedBox to = contiguous(bytes.data(), message.bytes);
  BoxCursor reader(message.boxes), writer({&to, 1});
  copy(reader, writer, message.bytes);
  return bytes;
}

// Rank 0 sends its first message with one bit changed.
class OneBit : public Tampering {
 public:
  using Tampering::Tampering;

 private:
  Message tamper(Message message) override {
    if (!bytes_.empty() || message.bytes == 0) return message;
    bytes_ = bytes_of(message);
    bytes_[bytes_.size() / 2] ^= std::byte{1};
    message.boxes = {contiguous(bytes_.data(), message.bytes)};
    return message;
  }
  std::vector<std::byte> bytes_;
};

// Rank 0 sends every message with its two halves swapped.
class Swapped : public Tampering {
 public:
  using Tampering::Tampering;

 private:
  Message tamper(Message message) override {
    if (message.bytes == 0) return message;
    std::vector<std::byte> bytes = bytes_of(message);
    std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2),
                bytes.end());
    kept_.push_back(std::move(bytes));
    message.boxes = {contiguous(kept_.back().data(), message.bytes)};
    return message;
  }
  std::vector<std::vector<std::byte>> kept_;
};

// Rank 0 sends a byte less than agreed.
class Short : public Tampering {
 public:
  using Tampering::Tampering;

 private:
  Message tamper(Message message) override {
    if (message.bytes == 0) return message;
    kept_.push_back(bytes_of(message));
    message.bytes -= 1;
    message.boxes = {contiguous(kept_.back().data(), message.bytes)};
    return message;
  }
  std::vector<std::vector<std::byte>> kept_;
};

template <class T>
TcpOptions with_rank_0() {
  TcpOptions tcp = patient();
  tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
    if (rank != Rank(0)) return real;
    return std::make_unique<T>(std::move(real));
  };
  return tcp;
}

// 1 -> 1, one transfer of 4 KiB.
TcpCase one_transfer() { return planned({{1, 1, 0}, {1, 1, 0}, {64, 64}}, "direct"); }

}  // namespace

TEST_CASE("tcp: every strategy leaves every destination byte right on 16 ranks",
          "[executor][tcp]") {
  const M2nCase c{{2, 4, 0}, {4, 2, 1}, {24, 40}, Dtype::bf16, 4};
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
    CAPTURE(strategy);
    PlanOptions options;
    options.chunks = 3;
    options.bucket_bytes = 500;
    options.buffers = GENERATE(1, 2);
    const TcpCase planned_case = planned(c, strategy, options);
    REQUIRE(verify(planned_case.schedule, planned_case.refit).empty());
    ExecuteOptions run_options;
    run_options.iterations = 2;
    run_options.warmup = 1;
    run_options.moves.piece_bytes = 16;
    const Measurement m = run(planned_case, run_options);
    REQUIRE(m.wrong_bytes == 0);
    REQUIRE(m.transport == "tcp");
    REQUIRE(m.ranks == 16);
    REQUIRE(m.iterations.size() == 2);
    REQUIRE(m.minimum_s() > 0);
    REQUIRE(m.cpu_s > 0);
  }
}

TEST_CASE("tcp: random layout pairs arrive whole", "[executor][tcp]") {
  const unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const char* const strategies[] = {"reshard", "direct", "gather_broadcast"};
  for (int i = 0; i < 36; ++i) {
    const int from = 1 + static_cast<int>(pick(8)), to = 1 + static_cast<int>(pick(8));
    const auto sources = all_layouts({8, 8}, 0, from);
    // Sides apart, or partly or wholly the same ranks.
    const int first = static_cast<int>(pick(static_cast<std::size_t>(from) + 1));
    const auto destinations = all_layouts({8, 8}, first, to);
    const int ranks = std::max(from, first + to);
    const Refit refit =
        refit_of(sources[pick(sources.size())], destinations[pick(destinations.size())], ranks);
    std::vector<int> domains;
    for (int left = ranks, size = 1 + i % 4; left > 0; left -= size)
      domains.push_back(std::min(left, size));
    const Cluster cluster = cluster_of_domains(domains);
    PlanOptions options;
    options.chunks = 1 + i % 3;
    options.bucket_bytes = 40;
    const char* strategy = strategies[i % 3];
    const Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
    CAPTURE(i, from, to, first, strategy, options.chunks);
    ExecuteOptions run_options = once();
    run_options.moves.piece_bytes = 8;
    REQUIRE(execute_tcp(schedule, refit, cluster, run_options, patient()).wrong_bytes == 0);
  }
}

TEST_CASE("tcp: rows to columns of a two-byte type come out right through small buffers",
          "[executor][tcp]") {
  // 1024 x 32 bf16: two sources own 512 rows each; each of 4 destinations owns 8 columns, runs of
  // 16 bytes, and each of 32 a single column, runs of 2 bytes.
  const int shards = GENERATE(4, 32);
  const TcpCase c = planned({{1, 2, 0}, {1, shards, 1}, {1024, 32}, Dtype::bf16, 4}, "direct");
  REQUIRE(run(c).wrong_bytes == 0);
}

TEST_CASE("tcp: a single flipped bit is one wrong byte, found where it is", "[executor][tcp]") {
  const Measurement m = run(one_transfer(), once(), with_rank_0<OneBit>());
  REQUIRE(m.wrong_bytes == 1);
  REQUIRE(m.iterations.front().wrong_bytes == 1);
  REQUIRE(m.wrong_examples.size() == 1);
  REQUIRE(m.wrong_examples[0].rank == Rank(1));
  REQUIRE(m.wrong_examples[0].element == 2048);  // u8: the middle of 4096
}

TEST_CASE("tcp: swapped halves of a fragment are seen", "[executor][tcp]") {
  // Two bytes are equal by chance once in 256: about 16 of 4096 come out right.
  const Measurement m = run(one_transfer(), once(), with_rank_0<Swapped>());
  REQUIRE(m.wrong_bytes > 4000);
}

TEST_CASE("tcp: a short transfer is an error that names both ends", "[executor][tcp]") {
  try {
    run(one_transfer(), once(), with_rank_0<Short>());
    FAIL("a short transfer passed");
  } catch (const RankFailure& error) {
    REQUIRE(error.code() == ErrorCode::check_failed);
    REQUIRE(error.failure().rank == Rank(1));
    REQUIRE_THAT(error.what(),
                 Catch::StartsWith("rank 1, round ") &&
                     Catch::EndsWith("(transfer 0 -> 1, 4096 bytes): rank 0 sends 4095 bytes "
                                     "and rank 1 expects 4096"));
  }
}

TEST_CASE("tcp: the timeline covers every op and lies inside the iteration", "[executor][tcp]") {
  const TcpCase c = planned({{1, 2, 0}, {2, 2, 1}, {64, 64}}, "reshard");
  const Measurement m = run(c);
  REQUIRE(m.timeline.size() == c.schedule.ops.size());
  for (const Span& span : m.timeline) {
    REQUIRE(span.start_s >= 0);
    REQUIRE(span.end_s >= span.start_s);
    REQUIRE(span.end_s <= m.iterations.back().seconds);
  }
}

}  // namespace refit::test
