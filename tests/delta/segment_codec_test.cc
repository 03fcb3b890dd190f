#include <cstring>
#include <random>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "delta/segment_codec.h"
#include "delta/update_model.h"

namespace refit {
namespace {

using Bytes = std::vector<std::byte>;
using Elements = std::vector<std::uint16_t>;

Bytes bytes_of(const Elements& elements) {
  Bytes bytes(2 * elements.size());
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

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

TEST_CASE("segment codec: every bit pattern counts, and no position is special", "[delta]") {
  // BF16: 1, -1, 0, -0, a denormal, infinity, two NaNs that differ in the payload.
  const std::uint16_t special[] = {0x3f80, 0xbf80, 0x0000, 0x8000, 0x0001, 0x7f80, 0x7fc0, 0x7fc1};
  for (const std::uint16_t from : special) {
    for (const std::uint16_t to : special) {
      Elements before(100, 0x3c00);
      before[50] = from;
      Elements after = before;
      after[50] = to;
      require_round_trip(bytes_of(before), bytes_of(after), 2);
    }
  }
  for (const std::size_t count : {1u, 2u, 33u, 65535u, 65537u, 1u << 20}) {
    for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
      const Elements before(count, 0x3c00);
      Elements after = before;
      after[at] = 0xbc00;  // the sign alone, and with `count` - 1 the largest gap there is
      require_round_trip(bytes_of(before), bytes_of(after), 2);
      after[0] ^= 1;
      require_round_trip(bytes_of(before), bytes_of(after), 2);
    }
  }
}

TEST_CASE("segment codec: four-byte differences of all magnitudes come back", "[delta]") {
  Bytes before(33 * 4), after(33 * 4);
  for (std::size_t i = 0; i < 33; ++i) {
    const std::uint32_t element = i < 32 ? std::uint32_t{1} << i : 0xffffffffu;
    std::memcpy(after.data() + 4 * i, &element, 4);
  }
  require_round_trip(before, after, 4);
  require_round_trip(after, before, 4);
}

TEST_CASE(
    "segment codec: weights as they are trained come back, with every mode smaller than the last "
    "resort",
    "[delta]") {
  UpdateModel model;
  const ElementRun run{0, 300000};
  for (const double rate : {1e-8, 1e-6, 1e-4}) {
    model.learning_rate = rate;
    for (const bool is_steady : {true, false}) {
      model.is_steady = is_steady;
      UpdatedShard shard(model, 0, {&run, 1});
      Elements before(300000), after(300000);
      shard.cast(before);
      shard.step();
      shard.cast(after);
      require_round_trip(bytes_of(before), bytes_of(after), 2);
      const EncodedSegment best =
          encode_segment(bytes_of(before), bytes_of(after), 2, DeltaMode::empty);
      REQUIRE(best.mode == DeltaMode::conditioned);
      for (const DeltaMode mode : kModes)
        REQUIRE(best.payload.size() <=
                encode_segment(bytes_of(before), bytes_of(after), 2, mode).payload.size());
    }
  }
}

TEST_CASE("segment codec: uniform changes of random weights are smallest in rice, noise is dense",
          "[delta]") {
  std::mt19937_64 random(3);
  Elements before(200000), noise(200000);
  for (std::uint16_t& e : before) e = static_cast<std::uint16_t>(0x3c00 + random() % 128);
  for (std::uint16_t& e : noise) e = static_cast<std::uint16_t>(random());
  Elements after = before;
  inject_uniform(1, 0.01, 0, after);
  REQUIRE(encode_segment(bytes_of(before), bytes_of(after), 2, DeltaMode::empty).mode ==
          DeltaMode::rice);
  REQUIRE(encode_segment(bytes_of(before), bytes_of(noise), 2, DeltaMode::empty).mode ==
          DeltaMode::dense);
  // The same new elements, from far away: the difference says no less than the element.
  for (std::size_t i = 0; i < after.size(); ++i) after[i] = i % 100 == 0 ? noise[i] : before[i];
  REQUIRE(encode_segment(bytes_of(before), bytes_of(after), 2, DeltaMode::empty).mode ==
          DeltaMode::overwrite);
}

TEST_CASE("segment codec: overwriting needs no trusted old elements where it writes", "[delta]") {
  Elements before(1000, 5), after(before);
  for (std::size_t i = 0; i < 1000; i += 10) after[i] = static_cast<std::uint16_t>(i);
  const EncodedSegment segment =
      encode_segment(bytes_of(before), bytes_of(after), 2, DeltaMode::overwrite);
  Elements torn = before;
  for (std::size_t i = 0; i < 500; i += 10) torn[i] = 0xdead;
  Bytes elements = bytes_of(torn);
  apply_segment(segment, 2, elements);
  REQUIRE((elements == bytes_of(after)));
}

TEST_CASE("segment codec: what is no encoding is refused", "[delta]") {
  Elements before(5000, 0x3c00), after(before);
  for (std::size_t i = 0; i < 5000; i += 50) after[i] = static_cast<std::uint16_t>(0x3c01 + i % 3);
  const auto refused = [&](EncodedSegment segment, int element_bytes, const std::string& message) {
    Bytes elements = bytes_of(before);
    REQUIRE_THROWS_WITH(apply_segment(segment, element_bytes, elements), Catch::Contains(message));
  };
  for (const DeltaMode mode : {DeltaMode::rice, DeltaMode::conditioned, DeltaMode::overwrite,
                               DeltaMode::dense, DeltaMode::anchor}) {
    CAPTURE(static_cast<int>(mode));
    const EncodedSegment good = encode_segment(bytes_of(before), bytes_of(after), 2, mode);
    // Cut anywhere, or longer by a byte: never a result.
    for (std::size_t size = 0; size < good.payload.size(); size += 1 + good.payload.size() / 97) {
      EncodedSegment cut = good;
      cut.payload.resize(size);
      refused(cut, 2, "segment payload: ");
    }
    EncodedSegment longer = good;
    longer.payload.push_back(std::byte{0});
    refused(longer, 2, "segment payload: ");
    EncodedSegment more = good;
    more.changed = 5001;
    refused(more, 2, "5001 changes in 5000 elements");
    if (mode == DeltaMode::dense || mode == DeltaMode::anchor) continue;
    for (const std::uint32_t changed : {0u, 1u, 99u, 101u}) {
      EncodedSegment wrong = good;
      wrong.changed = changed;
      refused(wrong, 2, "segment payload: ");
    }
  }
  EncodedSegment unknown;
  unknown.mode = static_cast<DeltaMode>(9);
  refused(unknown, 2, "mode 9");
  refused({DeltaMode::empty, 1, 0, {}}, 2, "an empty segment of 1 changes and 0 bytes");
  refused({DeltaMode::empty, 0, 0, {}}, 3, "elements of 3 bytes; use 1, 2 or 4");
  refused({DeltaMode::conditioned, 0, 0, {}}, 4, "mode conditioned with elements of 4 bytes");
  // Five bits of Rice parameter, 31.
  refused({DeltaMode::rice, 1, 0, Bytes(9, std::byte{0xff})}, 2, "Rice parameter 31");
  const Bytes odd(3);
  REQUIRE_THROWS_WITH(encode_segment(odd, odd, 2, DeltaMode::rice),
                      Catch::Contains("3 bytes are not"));
  const Bytes large(kMostSegmentElements + 1);
  REQUIRE_THROWS_WITH(encode_segment(large, large, 1, DeltaMode::rice),
                      Catch::Contains("at most 1048576"));
}

TEST_CASE("segment codec: any bytes at all are a result or bad input", "[delta]") {
  const std::uint64_t seed = 20;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const int inputs = 6000;
  int refused = 0;
  for (int i = 0; i < inputs; ++i) {
    const int width = 1 << random() % 3;
    const Bytes before = random_bytes((random() % 3000) * static_cast<std::size_t>(width), random);
    Bytes after = before;
    for (std::size_t c = random() % 100; c > 0 && !after.empty(); --c)
      after[random() % after.size()] ^= static_cast<std::byte>(1 + random() % 255);
    DeltaMode mode = kModes[random() % std::size(kModes)];
    if (mode == DeltaMode::conditioned && width != 2) mode = DeltaMode::rice;
    EncodedSegment segment = encode_segment(before, after, width, mode);
    switch (random() % 3) {
      case 0:  // a bit of a good one
        if (!segment.payload.empty())
          segment.payload[random() % segment.payload.size()] ^=
              static_cast<std::byte>(1u << random() % 8);
        break;
      case 1:
        segment.payload = random_bytes(random() % 200, random);
        segment.changed = static_cast<std::uint32_t>(random() % 3000);
        segment.threshold = static_cast<std::uint8_t>(random());
        segment.mode = static_cast<DeltaMode>(random() % 6);
        break;
      default:  // nearly all zeros: the longest codes
        segment.payload.assign(random() % 50, std::byte{0});
        segment.payload.push_back(static_cast<std::byte>(random()));
        segment.mode = kModes[1 + random() % 3];
    }
    Bytes elements = before;
    try {
      apply_segment(segment, width, elements);
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::bad_input);
      ++refused;
    }
    REQUIRE(elements.size() == before.size());
  }
  REQUIRE(refused > inputs / 2);
}

}  // namespace refit
