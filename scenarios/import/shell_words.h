#pragma once

#include <functional>
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
// variables that the script sets put in, $((sums)) of them worked out. A variable that it does not
// set stays as $NAME. Nothing is run: $(commands) stay as they are. Arrays give their words where
// they are written.
//
// `source` gives the text of a script behind "source" or ".": its words follow, with the line of
// that, and its variables stay. Nothing if it can't be read.
//
// Error(bad_input) with `file` and the line in front if variables make the words take more than
// 64 MiB in all: three bytes of text can stand for a word of 64 KiB, or for a thousand words.
using SourcedText = std::function<std::optional<std::string>(const std::string& path)>;
std::vector<ShellWord> shell_words(std::string_view text, const std::string& file,
                                   const SourcedText& source = {});

// The $NAME that a script left open in a word, or nothing.
std::optional<std::string> open_variable(std::string_view word);

}  // namespace refit
