#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/executor/delta_case.h"
#include "tests/support/random_refit.h"
#include "tests/support/short_dims.h"

namespace refit::test {
namespace {

// 96 x 64 elements, rows over 4 trainers in 2 replicas, columns over 4 engines in one replica.
M2nCase tall(Dtype dtype = Dtype::bf16) { return {{2, 4, 0}, {1, 4, 1}, {96, 64}, dtype, 4}; }

DeltaMeasurement run(const DeltaCase& c, const DeltaRunOptions& options) {
  REQUIRE(verify(c.schedule, c.refit).empty());
  return execute_delta_inproc(c.schedule, c.refit, c.cluster, options);
}

void require_right(const DeltaMeasurement& run, int versions) {
  REQUIRE(run.measurement.wrong_bytes == 0);
  REQUIRE(run.versions.size() == static_cast<std::size_t>(versions) + 1);
  for (const DeltaVersion& version : run.versions) {
    CAPTURE(version.version);
    CHECK(version.prints_compared > 0);
    CHECK(version.prints_unequal == 0);
  }
}

}  // namespace

TEST_CASE("delta: twenty versions arrive bit for bit, by every strategy and codec", "[executor]") {
  const char* strategy = GENERATE("delta_reshard", "delta_broadcast");
  const Codec codec = GENERATE(Codec::rice, Codec::conditioned);
  CAPTURE(strategy, to_string(codec));
  const DeltaMeasurement done = run(delta_case(tall(), strategy, codec), versions(20));
  require_right(done, 20);
  // About 1.07 % of 6144 elements in each of 20 versions are 1315 changes; 3 sigma are 108.
  std::uint64_t changed = 0;
  for (const DeltaVersion& version : done.versions)
    if (version.is_anchor == 0) changed += version.changed;
  CHECK(changed > 1000);
  CHECK(changed < 1700);
  // Heads of small chunks weigh more than their codes here; both are less than a tenth of it all.
  CHECK(done.versions.back().payload_bytes < done.versions.back().dense_bytes / 3);
  CHECK(done.versions.back().code_bytes < done.versions.back().dense_bytes / 50);
}

TEST_CASE("delta: versions on random clusters and layouts arrive bit for bit", "[executor]") {
  int runs = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    RandomRefit random = random_refit(seed);
    if (random.refit.ranks > 48) continue;
    CAPTURE(seed, random.words);
    const Refit refit = with_short_dims(std::move(random.refit));
    PlanOptions options;
    options.delta = DeltaOptions{};
    options.delta->shares.assign(refit.classes.size(), 0.02);
    for (const char* strategy : {"delta_reshard", "delta_broadcast"}) {
      CAPTURE(strategy);
      const Schedule schedule = plan(refit, random.cluster, named_policy(strategy), options);
      const DeltaMeasurement done =
          execute_delta_inproc(schedule, refit, random.cluster, versions(2));
      REQUIRE(done.measurement.wrong_bytes == 0);
      for (const DeltaVersion& version : done.versions) REQUIRE(version.prints_unequal == 0);
    }
    ++runs;
  }
  CHECK(runs >= 10);
}

TEST_CASE("delta: elements of one and of four bytes arrive, too", "[executor]") {
  const Dtype dtype = GENERATE(Dtype::f8_e4m3, Dtype::f32);
  CAPTURE(to_string(dtype));
  require_right(run(delta_case(tall(dtype)), versions(5)), 5);
}

TEST_CASE("delta: segments of a region are coded by themselves", "[executor]") {
  DeltaRunOptions options = versions(3);
  options.segment_elements = 100;  // 16 rows of 16 columns are 3 segments
  require_right(run(delta_case(tall()), options), 3);
}

TEST_CASE("delta: a new layout begins with an anchor where the old one stopped", "[executor]") {
  require_right(run(delta_case(tall()), versions(3)), 3);
  // Two replicas of two engines, by rows; version 3 again, whole, and on from there.
  DeltaRunOptions options = versions(3);
  options.first_version = 3;
  const DeltaCase other = delta_case({{2, 4, 0}, {2, 2, 0}, {96, 64}, Dtype::bf16, 2});
  const DeltaMeasurement done = run(other, options);
  require_right(done, 3);
  CHECK(done.versions.front().version == 3);
  CHECK(done.versions.back().version == 6);
}

TEST_CASE("delta: without an anchor both sides begin with the version they have", "[executor]") {
  DeltaRunOptions options = versions(4);
  options.anchor = false;
  options.first_version = 2;
  const DeltaMeasurement done = run(delta_case(tall()), options);
  require_right(done, 4);
  CHECK(done.versions.front().payload_bytes == 0);
  CHECK(done.versions.back().version == 6);
}

TEST_CASE("delta: ranks that train and generate take their own changes", "[executor]") {
  M2nCase c = tall();
  DeltaCase colocated = delta_case(c);
  // Destinations on the ranks of the sources, as make_refit does not make them.
  for (TensorClass& tensor : colocated.refit.classes) {
    tensor.destination =
        Layout(tensor.shape(), Mesh(Rank(0), {{"tp", 4, 1}}), {shard(2, Split::even())});
  }
  colocated.refit.destinations = {Rank(0), Rank(1), Rank(2), Rank(3)};
  PlanOptions options;
  options.delta = DeltaOptions{{}, {0.01}, "as tested"};
  colocated.schedule =
      plan(colocated.refit, colocated.cluster, named_policy("delta_reshard"), options);
  require_right(run(colocated, versions(4)), 4);
}

TEST_CASE("delta: a payload that is damaged once comes again from its owner", "[executor]") {
  const DeltaCase c = delta_case(tall());
  DeltaRunOptions options = versions(3);
  std::mutex mutex;
  std::map<std::tuple<int, std::uint64_t, std::size_t>, int> times;
  std::map<std::pair<int, std::size_t>, std::string> before;
  // Bit flips, an end that is cut off, nothing at all, and what came in the version before.
  options.arrived = [&](Rank rank, std::uint64_t version, std::size_t chunk, std::string& payload) {
    const std::lock_guard lock(mutex);
    const std::string old = std::exchange(before[{rank.value, chunk}], payload);
    if (version == 0 || payload.empty() || times[{rank.value, version, chunk}]++ > 0) return;
    switch ((static_cast<std::uint64_t>(rank.value) + version + chunk) % 5) {
      case 0:
        payload[payload.size() / 2] ^= 16;
        break;
      case 1:
        payload.resize(payload.size() / 2);
        break;
      case 2:
        payload.clear();
        break;
      case 3:
        payload = old;
        break;
    }
  };
  const DeltaMeasurement done = run(c, options);
  require_right(done, 3);
  for (std::size_t v = 1; v < done.versions.size(); ++v) CHECK(done.versions[v].asked_again > 4);
}

TEST_CASE("delta: weights that are torn in an apply are sent as new elements", "[executor]") {
  const DeltaCase c = delta_case(tall());
  DeltaRunOptions options = versions(2);
  options.segment_elements = 64;
  std::atomic<bool> torn = false;
  // An element in a segment that is written later; it has not changed, so only whole segments help.
  options.applying = [&](Rank rank, std::uint64_t version, std::span<std::byte> shard) {
    if (rank == Rank(9) && version == 1 && !torn.exchange(true)) shard.back() ^= std::byte{1};
  };
  const DeltaMeasurement done = run(c, options);
  require_right(done, 2);
  CHECK(torn);
  CHECK(done.versions[1].asked_again >= 1);
  CHECK(done.versions[2].asked_again == 0);
}

TEST_CASE("delta: weights that change at rest are sent as new elements", "[executor]") {
  const DeltaCase c = delta_case(tall());
  DeltaRunOptions options = versions(3);
  options.segment_elements = 64;
  // A rank's shard, as seen when version 1 is applied, loses a bit of its first and of its last
  // element before version 2 is looked at.
  std::span<std::byte> at_rest;
  std::atomic<bool> flipped = false;
  options.applying = [&](Rank rank, std::uint64_t version, std::span<std::byte> shard) {
    if (rank == Rank(9) && version == 1) at_rest = shard;
  };
  options.arrived = [&](Rank rank, std::uint64_t version, std::size_t, std::string&) {
    if (rank != Rank(9) || version != 2 || flipped.exchange(true)) return;
    at_rest.front() ^= std::byte{1};
    at_rest.back() ^= std::byte{64};
  };
  const DeltaMeasurement done = run(c, options);
  require_right(done, 3);
  CHECK(flipped);
  CHECK(done.versions[1].asked_again == 0);
  CHECK(done.versions[2].asked_again == 2);
  CHECK(done.versions[3].asked_again == 0);
}

TEST_CASE("delta: a payload that stays damaged or of another version is refused, nothing applied",
          "[executor]") {
  const DeltaCase c = delta_case(tall());
  DeltaRunOptions options = versions(5);
  std::mutex mutex;
  std::map<std::pair<int, std::size_t>, std::string> before;
  std::string expected;
  SECTION("one bit") {
    options.arrived = [](Rank rank, std::uint64_t version, std::size_t, std::string& payload) {
      if (rank == Rank(9) && version == 3) payload.back() ^= 4;
    };
    expected = "segment 0 is damaged";
  }
  SECTION("one bit of the head") {
    options.arrived = [](Rank rank, std::uint64_t version, std::size_t, std::string& payload) {
      if (rank == Rank(9) && version == 3) payload[40] ^= 1;
    };
    expected = "its head is damaged";
  }
  SECTION("cut short") {
    options.arrived = [](Rank rank, std::uint64_t version, std::size_t, std::string& payload) {
      if (rank == Rank(9) && version == 3) payload.resize(payload.size() - 1);
    };
    expected = "bytes of codes, but its segments have";
  }
  SECTION("of the version before") {
    options.arrived = [&](Rank rank, std::uint64_t version, std::size_t chunk,
                          std::string& payload) {
      const std::lock_guard lock(mutex);
      std::string& kept = before[{rank.value, chunk}];
      if (version == 3 && rank == Rank(9)) std::swap(payload, kept);
      kept = payload;
    };
    expected = "version 1 to 2, not of ";
  }
  try {
    run(c, options);
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::check_failed);
    CHECK_THAT(error.what(), Catch::Contains(expected));
    CHECK_THAT(error.what(), Catch::Contains("version 3 is not applied"));
    CHECK_THAT(error.what(), Catch::Contains("rank 9"));
  }
}

TEST_CASE("delta: a plan of whole weights and a codec for predictions are refused", "[executor]") {
  DeltaCase c = delta_case(tall());
  CHECK_THROWS_WITH(execute_delta_inproc(plan(c.refit, c.cluster, named_policy("reshard")), c.refit,
                                         c.cluster, versions(1)),
                    Catch::Contains("the plan by reshard sends whole weights"));
  c = delta_case(tall(), "delta_reshard", Codec::nemo_xor);
  CHECK_THROWS_WITH(execute_delta_inproc(c.schedule, c.refit, c.cluster, versions(1)),
                    Catch::Contains("codec nemo_xor is for predictions"));
}

}  // namespace refit::test
