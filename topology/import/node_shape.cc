#include "topology/import/node_shape.h"

namespace refit {

std::string_view to_string(Distance distance) {
  switch (distance) {
    case Distance::pix:
      return "PIX";
    case Distance::pxb:
      return "PXB";
    case Distance::phb:
      return "PHB";
    case Distance::node:
      return "NODE";
    case Distance::sys:
      break;
  }
  return "SYS";
}

bool is_near(Distance distance) { return distance <= Distance::pxb; }

}  // namespace refit
