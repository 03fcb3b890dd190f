#include "models/dtype.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

struct Row {
  Dtype dtype;
  int bytes;
  std::string_view name;
  std::array<std::string_view, 4> also;  // lower case, without "torch."
};

constexpr Row kRows[] = {
    {Dtype::bf16, 2, "bf16", {"bfloat16"}},
    {Dtype::f16, 2, "f16", {"float16", "fp16", "half"}},
    {Dtype::f32, 4, "f32", {"float32", "fp32", "float"}},
    {Dtype::f64, 8, "f64", {"float64", "fp64", "double"}},
    {Dtype::f8_e4m3, 1, "f8_e4m3", {"float8_e4m3fn", "float8_e4m3", "f8_e4m3fn", "fp8_e4m3"}},
    {Dtype::f8_e5m2, 1, "f8_e5m2", {"float8_e5m2", "fp8_e5m2"}},
    {Dtype::f8_e8m0, 1, "f8_e8m0", {"float8_e8m0fnu"}},
    {Dtype::u8, 1, "u8", {"uint8"}},
    {Dtype::i8, 1, "i8", {"int8"}},
    {Dtype::i16, 2, "i16", {"int16", "short"}},
    {Dtype::i32, 4, "i32", {"int32", "int"}},
    {Dtype::i64, 8, "i64", {"int64", "long"}},
};

const Row& row_of(Dtype dtype) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.dtype == dtype; });
  REFIT_CHECK(row != std::end(kRows));
  return *row;
}

}  // namespace

int bytes_per_element(Dtype dtype) { return row_of(dtype).bytes; }

std::string_view to_string(Dtype dtype) { return row_of(dtype).name; }

Dtype parse_dtype(std::string_view text) {
  std::string word(text);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word.starts_with("torch.")) word.erase(0, 6);

  std::string known;
  for (const Row& row : kRows) {
    if (word == row.name) return row.dtype;
    // Unused places of `also` are empty, and an empty word names nothing.
    if (!word.empty() && std::find(row.also.begin(), row.also.end(), word) != row.also.end()) {
      return row.dtype;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw Error(ErrorCode::bad_input,
              fmt::format("'{}' is not an element type; use one of {}", shown(text), known));
}

}  // namespace refit
