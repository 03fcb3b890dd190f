#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refit::detail {

// A text's lines without colour codes, carriage returns and other control characters; a tab is a
// blank.
std::vector<std::string> clean_lines(std::string_view text);

// The words between blanks. They look into `line`.
std::vector<std::string_view> line_words(std::string_view line);

// The whole word as a number from 0 to 1e12, or nothing.
std::optional<double> natural_number(std::string_view word);
// The whole word as a whole number, or `otherwise`.
long whole_or(std::string_view word, long otherwise);

}  // namespace refit::detail
