#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace refit::detail {

// How people fill cells of a table.

std::string trimmed(std::string_view text);

// "unknown", "unknown (in-house engine)", "n/a", "not stated", "-".
bool is_nothing(std::string_view trimmed_cell);

// "470.2", "1,024", "~64", "about 64", "64+", "64 (the fewest that fit)"; finite and not negative.
std::optional<double> parse_number(std::string_view cell);

// ASCII letters in lower case; other bytes as they are.
std::string lower(std::string_view text);

// Printable ASCII only, cut after some 200 bytes: what a message, a title or a YAML text may hold.
std::string printable(std::string_view text);
// The same as a YAML text in double quotes.
std::string in_quotes(std::string_view text);

}  // namespace refit::detail
