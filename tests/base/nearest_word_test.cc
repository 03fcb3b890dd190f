#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/yaml.h"

namespace refit {

namespace {

const std::vector<std::string> kKnown = {"tensor", "pipeline", "expert", "tp", "id"};

TEST_CASE("nearest word: one slip of each kind is found", "[base][nearest_word]") {
  CHECK(nearest_word("tensr", kKnown) == "tensor");    // a letter too few
  CHECK(nearest_word("tensoor", kKnown) == "tensor");  // a letter too many
  CHECK(nearest_word("tenser", kKnown) == "tensor");   // another letter
  CHECK(nearest_word("tesnor", kKnown) == "tensor");   // two letters swapped: one slip, not two
  CHECK(nearest_word("TENSOR", kKnown) == "tensor");   // case costs nothing
  CHECK(nearest_word("pipelien", kKnown) == "pipeline");
}

TEST_CASE("nearest word: a word too far from all known ones has none", "[base][nearest_word]") {
  // Allowed slips are (shorter length + 1) / 3, rounded down: 2 of 6 letters, none of 1.
  CHECK(nearest_word("tensor", {"tender"}) == "tender");      // 2 letters differ
  CHECK(nearest_word("tensor", {"tennis"}) == std::nullopt);  // 3 letters differ
  CHECK(nearest_word("color", kKnown) == std::nullopt);
  CHECK(nearest_word("x", {"y"}) == std::nullopt);
  CHECK(nearest_word("", kKnown) == std::nullopt);
  CHECK(nearest_word("tensor", {}) == std::nullopt);
}

TEST_CASE("nearest word: of two equally near words the first known one is named",
          "[base][nearest_word]") {
  CHECK(nearest_word("cat", {"car", "bat"}) == "car");
  CHECK(nearest_word("cat", {"bat", "car"}) == "bat");
}

TEST_CASE("nearest word: a nearer word wins over an earlier one", "[base][nearest_word]") {
  CHECK(nearest_word("expert", {"export", "experts", "expert"}) == "expert");
}

TEST_CASE("nearest word: a megabyte of junk is no work", "[base][nearest_word]") {
  // The lengths differ by more than the allowed slips, so no table is filled.
  CHECK(nearest_word(std::string(1 << 20, 'x'), kKnown) == std::nullopt);
}

}  // namespace

}  // namespace refit
