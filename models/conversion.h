#pragma once

#include <string>
#include <string_view>

namespace refit {

// What is done to values on their way where a copy of bytes is not enough.
enum class ValueOp {
  cast,          // the same values in another element type
  quantise,      // to a format with scales, and the scales
  dequantise,    // back
  requantise,    // from one format with scales to another
  negexp,        // A = -exp(A_log), or back
  add_constant,  // weight - 1, or back
  transpose,     // rows and columns swapped
  interleave,    // rows of two parts in turn instead of one part behind the other, or back
  derive,        // matrices that an engine computes from the one that was sent
  resize,        // entries that only one side has
  swizzle,       // scales padded, and in the order of a kernel
};

enum class EdgeSide { source, destination };

std::string_view to_string(ValueOp op);
std::string_view to_string(EdgeSide side);

// A step that a source takes before the tensors of a class are sent, or a destination after they
// have arrived. Every rank of that side takes it for what it holds. It is timed, not executed: runs
// move the bytes that travel.
struct Conversion {
  ValueOp op = ValueOp::cast;
  EdgeSide side = EdgeSide::source;
  std::string words;      // "bf16 to mxfp8"
  double read_bytes = 0;  // per element of the class, as it travels
  double written_bytes = 0;

  friend bool operator==(const Conversion&, const Conversion&) = default;
};

}  // namespace refit
