#include <algorithm>
#include <utility>

#include <catch2/catch.hpp>

#include "delta/baselines/baseline.h"
#include "delta/entropy.h"
#include "delta/segment_codec.h"
#include "delta/size_model.h"
#include "delta/update_model.h"

namespace refit {
namespace {

struct Pair {
  std::vector<std::uint16_t> before, after;
};

Pair updated(const UpdateModel& model, int steps) {
  const ElementRun run{0, static_cast<std::int64_t>(kMostSegmentElements)};
  UpdatedShard shard(model, 0, {&run, 1});
  for (int s = 1; s < steps; ++s) shard.step();
  Pair pair{std::vector<std::uint16_t>(kMostSegmentElements),
            std::vector<std::uint16_t>(kMostSegmentElements)};
  shard.cast(pair.before);
  shard.step();
  shard.cast(pair.after);
  return pair;
}

double bits(const Pair& pair, DeltaMode mode) {
  const EncodedSegment segment = encode_segment(std::as_bytes(std::span(pair.before)),
                                                std::as_bytes(std::span(pair.after)), 2, mode);
  return 8.0 * static_cast<double>(segment.payload.size()) / segment.changed;
}

double bytes(const Pair& pair, Baseline baseline) {
  return static_cast<double>(encode_baseline(baseline, pair.before, pair.after).size()) /
         measure_entropy(pair.before, pair.after).changed;
}

UpdateModel with_rate(double learning_rate) {
  UpdateModel model;
  model.learning_rate = learning_rate;
  return model;
}

}  // namespace

TEST_CASE("sizes: the entropy limits of a small case are those on paper", "[delta]") {
  // 8 elements, 2 changed: H(1/4) = 0.811278 bits each, over 2 changes 3.245112 bits. The four
  // small ones have both changes: 4 * H(1/2) / 2 = 2 bits. One +1, one -1: 1 bit.
  const std::vector<std::uint16_t> before{0x3c00, 0x3c01, 0x3c02, 0x3c03,
                                          0x1000, 0x1001, 0x1002, 0x1003};
  std::vector<std::uint16_t> after = before;
  after[4] = 0x1001;
  after[6] = 0x1001;
  const DeltaEntropy entropy = measure_entropy(before, after);
  REQUIRE(entropy.changed == 2);
  REQUIRE(entropy.positions == Approx(3.245112));
  REQUIRE(entropy.positions_given_exponent == Approx(2));
  REQUIRE(entropy.differences == Approx(1));
  REQUIRE(entropy.differences_given_exponent == Approx(1));
  REQUIRE(entropy.masks == Approx(1));       // 1 and 3
  REQUIRE(entropy.new_values == Approx(0));  // 0x1001 twice
  REQUIRE(measure_entropy(before, before).rice() == 0);
}

TEST_CASE(
    "sizes: rice within 3 %, conditioned within 15 % of their models' entropy once Adam is warm",
    "[delta]") {
  UpdateModel begin;
  begin.is_steady = false;
  const Pair pairs[] = {updated(with_rate(5e-7), 1), updated(with_rate(1e-6), 1),
                        updated(with_rate(5e-6), 1), updated(begin, 20)};
  for (const Pair& pair : pairs) {
    const DeltaEntropy entropy = measure_entropy(pair.before, pair.after);
    CAPTURE(entropy.change_rate());
    REQUIRE(bits(pair, DeltaMode::rice) <= 1.03 * entropy.rice());
    REQUIRE(bits(pair, DeltaMode::conditioned) <= 1.15 * entropy.conditioned());
    // No code of independent symbols beats the limit but for what a sample's counts flatter it.
    REQUIRE(bits(pair, DeltaMode::rice) >= 0.995 * entropy.rice());
    REQUIRE(bits(pair, DeltaMode::empty) <= bits(pair, DeltaMode::conditioned));
  }
}

TEST_CASE("sizes: XOR saves what is published over overwriting, and rice 30 % more", "[delta]") {
  for (const double rate : {5e-7, 1e-6, 5e-6}) {
    CAPTURE(rate);
    const Pair pair = updated(with_rate(rate), 1);
    const double overwrite = bytes(pair, Baseline::nemo_overwrite);
    const double mask = bytes(pair, Baseline::nemo_xor);
    REQUIRE(mask / overwrite > 1 - 0.415);
    REQUIRE(mask / overwrite < 1 - 0.36);
    REQUIRE(bits(pair, DeltaMode::rice) / 8 <= 0.7 * mask);
    REQUIRE(bytes(pair, Baseline::index_value) == 6);
  }
}

TEST_CASE("sizes: the model for plans says what the codecs measure", "[delta]") {
  // Between two learning rates of its table, 0.64 and 1.28 of 1e-6.
  const Pair pair = updated(with_rate(0.9e-6), 1);
  const double rate = measure_entropy(pair.before, pair.after).change_rate();
  REQUIRE(bytes_per_change(Codec::rice, rate) ==
          Approx(bits(pair, DeltaMode::rice) / 8).epsilon(0.01));
  REQUIRE(bytes_per_change(Codec::conditioned, rate) ==
          Approx(bits(pair, DeltaMode::conditioned) / 8).epsilon(0.01));
  REQUIRE(bytes_per_change(Codec::nemo_xor, rate) ==
          Approx(bytes(pair, Baseline::nemo_xor)).epsilon(0.02));
  REQUIRE(bytes_per_change(Codec::nemo_overwrite, rate) ==
          Approx(bytes(pair, Baseline::nemo_overwrite)).epsilon(0.02));
}

TEST_CASE("sizes: a difference of FP8 weights takes the bytes of a BF16 one, at equal rates",
          "[delta]") {
  // The BF16 weights rounded to four significant bits, with exponents from 2^-17 to 2^-2, as E4M3
  // scaled to its range has them; below are zeros.
  const auto rounded = [](const std::vector<std::uint16_t>& bf16) {
    std::vector<std::uint8_t> fp8;
    for (const std::uint16_t bits : bf16) {
      const int magnitude = std::max(0, (((bits & 0x7fff) + 8) >> 4) - (110 << 3));
      fp8.push_back(static_cast<std::uint8_t>((bits >> 8 & 0x80) | std::min(magnitude, 0x7f)));
    }
    return fp8;
  };
  for (const double learning_rate : {1e-5, 1e-4, 1e-3}) {
    const Pair pair = updated(with_rate(learning_rate), 1);
    const std::vector<std::uint8_t> before = rounded(pair.before), after = rounded(pair.after);
    const auto bytes_of = [&](DeltaMode mode) {
      const EncodedSegment segment = encode_segment(std::as_bytes(std::span(before)),
                                                    std::as_bytes(std::span(after)), 1, mode);
      return std::pair(segment.changed / static_cast<double>(kMostSegmentElements),
                       static_cast<double>(segment.payload.size()) / segment.changed);
    };
    const auto [rate, rice] = bytes_of(DeltaMode::rice);
    CAPTURE(learning_rate, rate);
    REQUIRE(bytes_per_change(Codec::rice, rate, {1, 3}) == Approx(rice).epsilon(0.04));
  }
}

TEST_CASE("sizes: the model for plans is smooth in the table, at its ends and beyond", "[delta]") {
  for (const Codec codec : codecs()) {
    CAPTURE(to_string(codec));
    double before = bytes_per_change(codec, 1e-7);
    for (double rate = 1e-7; rate < 0.4; rate *= 1.1) {
      const double now = bytes_per_change(codec, rate);
      REQUIRE(now > 0);
      REQUIRE(now <= before * 1.001);  // denser changes are never dearer
      REQUIRE(now > 0.97 * before);
      before = now;
    }
  }
  // More changes never take fewer bytes; whole elements are what is sent at most, and where all
  // changed.
  for (const Codec codec : codecs()) {
    for (const DeltaElement& element : {DeltaElement{}, DeltaElement{1, 3}, DeltaElement{4, 23}}) {
      CAPTURE(to_string(codec), element.bytes);
      double before = 0;
      for (double rate = 1e-6; rate <= 1; rate = rate < 1 ? std::min(1.0, rate * 1.05) : 2) {
        const double now = rate * bytes_per_change(codec, rate, element);
        REQUIRE(std::min(now, 1.0 * element.bytes) >= before);
        before = std::min(now, 1.0 * element.bytes);
      }
      REQUIRE(before == Approx(element.bytes));
    }
  }
}

}  // namespace refit
