#include <random>

#include <catch2/catch.hpp>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/targets.h"

namespace refit::fuzz {
namespace {

using Target = void (*)(const std::uint8_t*, std::size_t);

// Every seed as it is, and changed a little: what `make fuzz` does for long, for a moment.
void replay(const std::vector<Seed>& seeds, Target target) {
  const std::uint64_t random_seed = 99;
  CAPTURE(random_seed);
  std::mt19937_64 random(random_seed);
  REQUIRE(!seeds.empty());
  for (const Seed& seed : seeds) {
    CAPTURE(seed.name);
    target(seed.bytes.data(), seed.bytes.size());
    for (int i = 0; i < 200; ++i) {
      std::vector<std::uint8_t> bytes = seed.bytes;
      for (std::uint64_t n = 1 + random() % 4; n > 0 && !bytes.empty(); --n) {
        const std::size_t at = random() % bytes.size();
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<std::uint8_t>(random());
            break;
          case 1:
            bytes[at] ^= static_cast<std::uint8_t>(1U << (random() % 8));
            break;
          case 2:
            bytes.resize(at);
            break;
          default:
            bytes.insert(bytes.begin() + static_cast<long>(at), bytes[at]);
            break;
        }
      }
      target(bytes.data(), bytes.size());
    }
  }
}

TEST_CASE("fuzz: the corpus of delta files and its neighbours do no harm", "[fuzz]") {
  replay(delta_file_seeds(), delta_file);
}

TEST_CASE("fuzz: the corpus of delta segments and its neighbours do no harm", "[fuzz]") {
  replay(delta_segment_seeds(), delta_segment);
}

TEST_CASE("fuzz: the corpus of safetensors headers and its neighbours do no harm", "[fuzz]") {
  replay(safetensors_seeds(), safetensors_header);
}

}  // namespace
}  // namespace refit::fuzz
