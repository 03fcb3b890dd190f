#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace refit {

// The value of a variable of a shell script, or nothing if the script does not set it.
using ShellVariable = std::function<std::optional<std::string>(std::string_view name)>;

// What is inside $((...)): integers, variables with or without '$', + - * / %, brackets. Nothing if
// it is anything else, names an unknown variable, divides by 0 or leaves 64 bits.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellVariable& variable);

}  // namespace refit
