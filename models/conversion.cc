#include "models/conversion.h"

#include "base/check.h"

namespace refit {

std::string_view to_string(ValueOp op) {
  switch (op) {
    case ValueOp::cast:
      return "cast";
    case ValueOp::quantise:
      return "quantise";
    case ValueOp::dequantise:
      return "dequantise";
    case ValueOp::requantise:
      return "requantise";
    case ValueOp::negexp:
      return "negexp";
    case ValueOp::add_constant:
      return "add_constant";
    case ValueOp::transpose:
      return "transpose";
    case ValueOp::interleave:
      return "interleave";
    case ValueOp::derive:
      return "derive";
    case ValueOp::resize:
      return "resize";
    case ValueOp::swizzle:
      return "swizzle";
  }
  REFIT_CHECK(false && "a conversion without a name");
  return {};
}

std::string_view to_string(EdgeSide side) {
  return side == EdgeSide::source ? "source" : "destination";
}

}  // namespace refit
