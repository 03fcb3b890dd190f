#include "checks/finding.h"

#include <fmt/format.h>

namespace refit {

std::string to_line(const Finding& finding) {
  return fmt::format("{}: {}: {}{}{}", finding.rule, finding.subject, finding.message,
                     finding.cure.empty() ? "" : "; ", finding.cure);
}

}  // namespace refit
