#include "scenarios/import/shell_flags.h"

#include <algorithm>
#include <utility>

namespace refit {
namespace {

std::string flag_name(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

ShellFlags::ShellFlags(const std::vector<ShellWord>& words) {
  for (const ShellWord& word : words) {
    if (word.text.starts_with("--") && word.text.size() > 2) {
      Flag flag{flag_name(word.text), {}, word.line};
      const std::size_t equals = word.text.find('=');
      if (equals != std::string::npos) flag.values.push_back(word.text.substr(equals + 1));
      flags_.push_back(std::move(flag));
    } else if (!flags_.empty()) {
      flags_.back().values.push_back(word.text);
    }
  }
}

const ShellFlags::Flag* ShellFlags::find(std::string_view name) {
  Flag* last = nullptr;
  for (Flag& flag : flags_) {
    if (flag.name != name) continue;
    flag.asked = true;
    last = &flag;
  }
  return last;
}

}  // namespace refit
