#include "models/dtype.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace refit;

TEST_CASE("dtype: the spellings of PyTorch, safetensors and ours name the same type", "[models]") {
  for (const char* text : {"bf16", "BF16", "bfloat16", "torch.bfloat16"}) {
    CAPTURE(text);
    REQUIRE(parse_dtype(text) == Dtype::bf16);
  }
  REQUIRE(parse_dtype("F8_E4M3") == Dtype::f8_e4m3);
  REQUIRE(parse_dtype("torch.float8_e4m3fn") == Dtype::f8_e4m3);
  REQUIRE(parse_dtype("float8_e5m2") == Dtype::f8_e5m2);
  REQUIRE(parse_dtype("torch.float8_e8m0fnu") == Dtype::f8_e8m0);
  REQUIRE(parse_dtype("half") == Dtype::f16);
  REQUIRE(parse_dtype("torch.float32") == Dtype::f32);
  REQUIRE(parse_dtype("U8") == Dtype::u8);
}

TEST_CASE("dtype: every type reads back from its own name", "[models]") {
  const Dtype dtype =
      GENERATE(Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f64, Dtype::f8_e4m3, Dtype::f8_e5m2,
               Dtype::f8_e8m0, Dtype::u8, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64);
  REQUIRE(parse_dtype(to_string(dtype)) == dtype);
}

TEST_CASE("dtype: element sizes are those of the formats", "[models]") {
  REQUIRE(bytes_per_element(Dtype::f8_e4m3) == 1);
  REQUIRE(bytes_per_element(Dtype::f8_e5m2) == 1);
  REQUIRE(bytes_per_element(Dtype::f8_e8m0) == 1);
  REQUIRE(bytes_per_element(Dtype::u8) == 1);
  REQUIRE(bytes_per_element(Dtype::i8) == 1);
  REQUIRE(bytes_per_element(Dtype::bf16) == 2);
  REQUIRE(bytes_per_element(Dtype::f16) == 2);
  REQUIRE(bytes_per_element(Dtype::i16) == 2);
  REQUIRE(bytes_per_element(Dtype::f32) == 4);
  REQUIRE(bytes_per_element(Dtype::i32) == 4);
  REQUIRE(bytes_per_element(Dtype::f64) == 8);
  REQUIRE(bytes_per_element(Dtype::i64) == 8);
}

TEST_CASE("dtype: an unknown type is refused with the known ones", "[models]") {
  REQUIRE_THROWS_WITH(parse_dtype("bf17"),
                      "'bf17' is not an element type; use one of bf16, f16, f32, f64, f8_e4m3, "
                      "f8_e5m2, f8_e8m0, u8, i8, i16, i32, i64");
  REQUIRE_THROWS_AS(parse_dtype(""), Error);
  REQUIRE_THROWS_AS(parse_dtype("torch."), Error);
}
