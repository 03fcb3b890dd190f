#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refit::detail {

// A text's lines without colour codes, carriage returns and other control characters; a tab is a
// blank.
std::vector<std::string> clean_lines(std::string_view text);

// The words between blanks. They look into `line`.
std::vector<std::string_view> line_words(std::string_view line);

}  // namespace refit::detail
