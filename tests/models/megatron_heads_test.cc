// Heads and groups that Megatron's tensor parallel ranks must share whole.
#include <catch2/catch.hpp>

#include "tests/models/megatron_case.h"

namespace refit::test {

TEST_CASE("megatron: attention heads are shared whole", "[models][megatron]") {
  // 5 heads of 4 rows cut in 4: 5 rows each, but no whole heads.
  REQUIRE(refusal_of(small_model(12, 0, {5, 1, 4}), degrees(8, 4, 1, 1)) ==
          "tensor: 4 does not divide 5 attention heads; use 1 or 5");
  REQUIRE(refusal_of(small_model(12, 0, {12, 6, 4}), degrees(8, 4, 1, 1)) ==
          "tensor: 4 is neither a divisor nor a multiple of 6 key/value heads; use 3 or 6");
  REQUIRE(refusal_of(small_model(12, 0, {12, 2, 4}), degrees(8, 4, 1, 1)) == "");
}

TEST_CASE("megatron: Qwen3-235B has 64 heads and 4 groups: TP8 and TP16 go, TP3 does not",
          "[models][megatron]") {
  const ModelSpec model = catalog_model("qwen3-235b-a22b");
  for (const int tensor : {8, 16}) {
    REQUIRE(refusal_of(model, degrees(tensor, tensor, 1, 1, 1, 1)) == "");
  }
  REQUIRE(refusal_of(model, degrees(3, 3, 1, 1, 1, 1)) ==
          "tensor: 3 does not divide 64 attention heads; use 2 or 4");
}

TEST_CASE("megatron: groups of Mamba heads are shared whole", "[models][megatron]") {
  // Nemotron's 8 groups: the 1024 rows of B divide by 16, the groups do not.
  for (const char* name :
       {"nemotron-3-ultra-550b-a55b", "nemotron-3-super-120b-a12b", "nemotron-3-nano-30b-a3b"}) {
    CAPTURE(name);
    const ModelSpec model = catalog_model(name);
    REQUIRE(refusal_of(model, degrees(8, 8, 1, 1, 8, 1)) == "");
    REQUIRE(refusal_of(model, degrees(16, 16, 1, 1, 16, 1)) ==
            "tensor: 16 does not divide the 8 groups of Mamba heads; use 8");
  }
}

TEST_CASE("megatron: key heads of delta nets are shared whole", "[models][megatron]") {
  const ModelSpec model = catalog_model("qwen3.8-2.4t-a95b");  // 16 key and 128 value heads
  REQUIRE(refusal_of(model, degrees(16, 16, 1, 1, 16, 1)) == "");
  REQUIRE(refusal_of(model, degrees(32, 32, 1, 1, 32, 1)) ==
          "tensor: 32 does not divide the 16 key heads of delta nets; use 16");
}

TEST_CASE("megatron: Kimi K3 has 96 heads of both kinds", "[models][megatron]") {
  const ModelSpec model = catalog_model("kimi-k3");
  REQUIRE(refusal_of(model, degrees(32, 32, 1, 1, 32, 1)) == "");
  REQUIRE(refusal_of(model, degrees(64, 64, 1, 1, 64, 1)) ==
          "tensor: 64 does not divide 96 attention heads; use 48 or 96");
}

}  // namespace refit::test
