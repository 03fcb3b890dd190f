#include <random>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "delta/baselines/baseline.h"

namespace refit {
namespace {

using Elements = std::vector<std::uint16_t>;

void require_round_trip(const Elements& before, const Elements& after) {
  for (const Baseline baseline : kBaselines) {
    CAPTURE(name(baseline), before.size());
    Elements elements = before;
    apply_baseline(baseline, encode_baseline(baseline, before, after), elements);
    REQUIRE((elements == after));
  }
}

}  // namespace

TEST_CASE("baselines: all give back every element", "[delta]") {
  std::mt19937_64 random(11);
  for (const std::size_t count : {1u, 40000u}) {
    for (const double density : {0.0, 0.01, 0.5, 1.0}) {
      Elements before(count);
      for (std::uint16_t& e : before) e = static_cast<std::uint16_t>(random());
      Elements after = before;
      std::bernoulli_distribution is_changed(density);
      for (std::uint16_t& e : after) {
        if (is_changed(random)) e = static_cast<std::uint16_t>(random());
      }
      require_round_trip(before, after);
    }
  }
}

TEST_CASE("baselines: neighbours are a range, and a gap of more than 16 bits widens all",
          "[delta]") {
  const Elements before(200000, 7);
  Elements neighbours = before, far = before;
  for (std::size_t i = 100; i < 20000; ++i) neighbours[i] = static_cast<std::uint16_t>(8 + i % 2);
  far[3] = 8;
  far[199999] = 9;
  require_round_trip(before, neighbours);
  require_round_trip(before, far);
  // No place is named beside the first: what is left are values that zstd folds away.
  REQUIRE(encode_baseline(Baseline::nemo_xor, before, neighbours).size() < 100);
}

TEST_CASE("baselines: any bytes are a result or bad input", "[delta]") {
  const std::uint64_t seed = 12;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Elements before(3000), after(3000);
  for (std::size_t i = 0; i < 3000; i += 7) after[i] = static_cast<std::uint16_t>(random());
  int refused = 0;
  for (const Baseline baseline : kBaselines) {
    const std::vector<std::byte> good = encode_baseline(baseline, before, after);
    for (int i = 0; i < 500; ++i) {
      std::vector<std::byte> bytes = good;
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
      if (i % 2 == 0) bytes.resize(random() % bytes.size());
      Elements elements = before;
      try {
        apply_baseline(baseline, bytes, elements);
      } catch (const Error& error) {
        REQUIRE(error.code() == ErrorCode::bad_input);
        ++refused;
      }
    }
  }
  REQUIRE(refused > 500);  // all that were cut, but for lists of whole pairs
}

}  // namespace refit
