#pragma once

#include <string_view>

namespace refit {

// Element types as PyTorch and safetensors name them. A type is only an element size to the
// planner.
enum class Dtype { bf16, f16, f32, f64, f8_e4m3, f8_e5m2, f8_e8m0, u8, i8, i16, i32, i64 };

int bytes_per_element(Dtype dtype);
std::string_view to_string(Dtype dtype);

// Accepts our spelling and the field's: "bf16", "bfloat16", "BF16", "torch.bfloat16", "F8_E4M3"…
// Error(bad_input) otherwise.
Dtype parse_dtype(std::string_view text);

}  // namespace refit
