#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/shell_words.h"

namespace refit {

// Flags of argparse: "--a b", "--a=b", "--a"; a flag that comes twice has its last value.
class ShellFlags {
 public:
  explicit ShellFlags(const std::vector<ShellWord>& words);

  struct Flag {
    std::string name;  // with its dashes, underscores as dashes
    std::vector<std::string> values;
    int line = 1;
    bool asked = false;
  };

  const Flag* find(std::string_view name);  // marks it as asked for
  bool has(std::string_view name) { return find(name) != nullptr; }
  const std::vector<Flag>& all() const { return flags_; }

 private:
  std::vector<Flag> flags_;
};

}  // namespace refit
