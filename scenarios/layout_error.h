#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace refit {

// The scenario can be read, but its layouts can't be: degrees that do not divide, blocks that would
// be cut. what() is the first reason; `refit check` lists all.
class LayoutError : public Error {
 public:
  explicit LayoutError(std::vector<std::string> findings)
      : Error(ErrorCode::bad_input, findings.front()), findings_(std::move(findings)) {}

  // Of both sides: "file:line:column: key: what is wrong; what would be right".
  const std::vector<std::string>& findings() const { return findings_; }

 private:
  std::vector<std::string> findings_;
};

}  // namespace refit
