#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

struct ShellWord {
  std::string text;
  int line = 1;
};

// The words of a shell script or of a command line: comments and line ends gone, quotes taken off,
// variables that the script sets put in. A variable that it does not set stays as $NAME. Nothing is
// run: $(commands) and arithmetic stay as they are. Arrays give their words where they are written.
//
// Error(bad_input) with `file` and the line in front if variables make the words longer than 64 MiB
// in all: three bytes of text can stand for a word of 64 KiB.
std::vector<ShellWord> shell_words(std::string_view text, const std::string& file);

// The $NAME that a script left open in a word, or nothing.
std::optional<std::string> open_variable(std::string_view word);

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
