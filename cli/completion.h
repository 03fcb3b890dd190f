#pragma once

#include <string>
#include <vector>

#include "cli/cli11_fwd.h"

namespace refit {

struct Completion {
  std::string word;
  std::string says;  // one line
};

// What may stand in the place of the last of `words`, which are typed behind the command's name:
// verbs, options, and values of which only some are right. Nothing where only a shell knows: files.
std::vector<Completion> completions(const CLI::App& app, std::vector<std::string> words);

// What an option's value must be one of; empty: anything.
std::vector<std::string> values_of(const CLI::Option& option);

// A description on one line; help breaks long ones.
std::string one_line(std::string text);

}  // namespace refit
