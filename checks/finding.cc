#include "checks/finding.h"

#include <map>

#include <fmt/format.h>

namespace refit {

std::string to_line(const Finding& finding) {
  return fmt::format("{}: {}: {}{}{}", finding.rule, finding.subject, finding.message,
                     finding.cure.empty() ? "" : "; ", finding.cure);
}

std::vector<std::string> lines_by_rule(const Findings& findings) {
  std::map<std::string, std::size_t> more;  // of rules that have no line yet
  for (const Finding& finding : findings) ++more[finding.rule];
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    const auto rule = more.find(finding.rule);
    if (rule == more.end()) continue;
    const std::size_t others = rule->second - 1;
    lines.push_back(to_line(finding) + (others > 0 ? fmt::format(" (and {} more)", others) : ""));
    more.erase(rule);
  }
  return lines;
}

}  // namespace refit
