#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "scenarios/scenario.h"

namespace refit::test {

// What reading `text` as the file s.yaml complains about.
inline std::string error_of(const std::string& text) {
  try {
    parse_scenario(text, "s.yaml");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "read without an error";
}

// `text` with one occurrence of `from` replaced.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace refit::test
