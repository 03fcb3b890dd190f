#include <cstring>
#include <random>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "delta/segment_codec.h"

namespace refit {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DeltaMode kModes[] = {DeltaMode::empty,     DeltaMode::rice,  DeltaMode::conditioned,
                                DeltaMode::overwrite, DeltaMode::dense, DeltaMode::anchor};

Bytes random_bytes(std::size_t count, std::mt19937_64& random) {
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

void require_round_trip(const Bytes& before, const Bytes& after, int element_bytes) {
  for (const DeltaMode mode : kModes) {
    if (mode == DeltaMode::conditioned && element_bytes != 2) continue;
    CAPTURE(static_cast<int>(mode), element_bytes, before.size());
    const EncodedSegment segment = encode_segment(before, after, element_bytes, mode);
    Bytes elements = before;
    apply_segment(segment, element_bytes, elements);
    REQUIRE((elements == after));
    if (before == after && mode <= DeltaMode::conditioned)
      REQUIRE(segment.mode == DeltaMode::empty);
  }
}

}  // namespace

TEST_CASE("segment codec: all modes give back every element at every density", "[delta]") {
  const auto seed = GENERATE(1u, 2u);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const int width : {1, 2, 4}) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{100003}}) {
      const Bytes before = random_bytes(count * static_cast<std::size_t>(width), random);
      for (const double density : {0.0, 1e-4, 0.01, 0.5, 1.0}) {
        Bytes after = before;
        std::bernoulli_distribution is_changed(density);
        for (std::size_t i = 0; i < count; ++i) {
          if (is_changed(random))
            after[i * static_cast<std::size_t>(width)] ^=
                static_cast<std::byte>(1 + random() % 255);
        }
        require_round_trip(before, after, width);
      }
    }
  }
}

}  // namespace refit
