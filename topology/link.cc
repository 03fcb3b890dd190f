#include "topology/link.h"

#include "base/check.h"

namespace refit {

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "nvlink";
    case LinkKind::pcie:
      return "pcie";
    case LinkKind::nic:
      return "nic";
    case LinkKind::fabric:
      return "fabric";
    case LinkKind::wan:
      return "wan";
    case LinkKind::store:
      return "store";
  }
  REFIT_CHECK(false && "a link kind has a name");
  return {};
}

}  // namespace refit
