#include "report/fault_words.h"

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

std::string place_words(const FaultSpec& fault) {
  switch (fault.place) {
    case FaultPlace::nic:
      return fmt::format("the NIC of rank {}", fault.rank.value);
    case FaultPlace::nvlink:
      return fmt::format("the NVLink port of rank {}", fault.rank.value);
    case FaultPlace::rank:
      break;
  }
  return fmt::format("rank {}", fault.rank.value);
}

std::string kind_words(FaultKind kind) {
  switch (kind) {
    case FaultKind::stalled:
      return "stalls";
    case FaultKind::dark:
      return "goes dark";
    case FaultKind::killed:
      break;
  }
  return "is killed";
}

}  // namespace

std::string fault_words(const FaultSpec& fault) {
  const std::string when = fault.at_s >= 0
                               ? format_seconds(fault.at_s)
                               : fmt::format("{:.4g} % of the refit", 100 * fault.fraction);
  return fmt::format("{} {} at {}, policy {}", place_words(fault), kind_words(fault.kind), when,
                     to_string(fault.policy));
}

}  // namespace refit
