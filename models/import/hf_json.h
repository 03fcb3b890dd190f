#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace refit {

inline constexpr std::size_t kMostConfigBytes = 16 << 20;

// JSON as Python writes it: a bare Infinity or NaN is read as the text "Infinity" or "NaN", so that
// it stands in nobody's way until somebody asks for a number there. `where` names the file.
//
// Error(bad_input) with file, line and column for a syntax error and for nesting deeper than 64
// levels; also for more than 16 MiB and for a key that stands twice in one object.
nlohmann::json parse_hf_json(const std::string& text, const std::string& where);

// "12:3", where a key stands in text that parse_hf_json has taken. The path has dots between the
// keys; a key that is not there is looked for in the innermost object on the path that is.
std::string place_of_key(std::string_view text, std::string_view path);

}  // namespace refit
