#pragma once

#include <string>
#include <vector>

#include "checks/finding.h"

namespace refit::test {

// As people see them.
inline std::vector<std::string> lines(const Findings& findings) {
  std::vector<std::string> all;
  for (const Finding& finding : findings) all.push_back(to_line(finding));
  return all;
}

using Lines = std::vector<std::string>;

}  // namespace refit::test
