#pragma once

#include <string>
#include <vector>

namespace refit {

// One reason why a runtime or an engine would not take a layout as it is.
struct Finding {
  std::string rule;  // "nccl_m2n.source_overlap"
  std::string
      subject;  // the tensor, side or key: "model.layers.0.mlp.experts.{expert}.up_proj.weight"
  std::string message;  // what is wrong, with its numbers
  std::string cure;     // the nearest settings that would be right; empty if there are none

  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

// "rule: subject: message; cure".
std::string to_line(const Finding& finding);

// A line per rule: its first finding, and how many more tensors or keys break it.
std::vector<std::string> lines_by_rule(const Findings& findings);

}  // namespace refit
