#pragma once

#include <charconv>
#include <limits>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace refit {

// A check of an option that takes a number: all of its text is one, from `least` to `most`. CLI11's
// own lets "nan" pass every range, and takes whole numbers that are too large for their type for
// the largest of it.
template <class Number>
CLI::Validator number_from(Number least, Number most = std::numeric_limits<Number>::max()) {
  const bool endless = most == std::numeric_limits<Number>::max();
  const std::string range =
      endless ? fmt::format("from {}", least) : fmt::format("from {} to {}", least, most);
  const auto check = [least, most, range](const std::string& text) -> std::string {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && value >= least && value <= most) return {};
    return fmt::format("expected a {}number {}, got '{}'",
                       std::is_integral_v<Number> ? "whole " : "", range, text);
  };
  return CLI::Validator(check, endless ? "" : fmt::format("in [{} - {}]", least, most));
}

}  // namespace refit
