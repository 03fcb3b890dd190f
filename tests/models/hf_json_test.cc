#include "models/import/hf_json.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace refit;
using Catch::StartsWith;

TEST_CASE("json: a bare Infinity or NaN is read as its own text", "[models]") {
  const auto json = parse_hf_json(R"({"a": Infinity, "b": [-Infinity, NaN], "c": "Infinity, NaN"})",
                                  "config.json");
  REQUIRE(json["a"] == "Infinity");
  REQUIRE(json["b"][0] == "-Infinity");
  REQUIRE(json["b"][1] == "NaN");
  REQUIRE(json["c"] == "Infinity, NaN");  // inside a text nothing is changed
}

TEST_CASE("json: quote marks after a backslash do not end a text", "[models]") {
  const auto json = parse_hf_json(R"({"a\"NaN": "\\", "b": NaN})", "config.json");
  REQUIRE(json["a\"NaN"] == "\\");
  REQUIRE(json["b"] == "NaN");
}

TEST_CASE("json: a syntax error names file, line and column", "[models]") {
  // The comma's follower, '}', is the second character of line 2.
  REQUIRE_THROWS_WITH(parse_hf_json("{\"a\": 1,\n }", "dir/config.json"),
                      StartsWith("dir/config.json:2:2: not JSON: syntax error"));
  REQUIRE_THROWS_WITH(parse_hf_json("", "empty.json"),
                      StartsWith("empty.json:1:1: not JSON: syntax error"));
  // A text that does not end: the place behind the last character.
  REQUIRE_THROWS_WITH(parse_hf_json("{\"a", "x.json"), StartsWith("x.json:1:4: not JSON: "));
}

TEST_CASE("json: the column counts the file's own characters behind an Infinity", "[models]") {
  // {"a": Infinity, "b" 3}: the value 3 stands where a colon should, at column 21.
  REQUIRE_THROWS_WITH(parse_hf_json("{\"a\": Infinity, \"b\" 3}", "x.json"),
                      StartsWith("x.json:1:21: not JSON: "));
}

TEST_CASE("json: a number too large for a double is an error, not a crash", "[models]") {
  REQUIRE_THROWS_WITH(parse_hf_json("{\"a\": 1e999}", "x.json"), StartsWith("x.json: not JSON: "));
}

TEST_CASE("json: nesting deeper than 64 levels is refused where it starts", "[models]") {
  const std::string ok = std::string(64, '[') + std::string(64, ']');
  REQUIRE_NOTHROW(parse_hf_json(ok, "x.json"));
  REQUIRE_THROWS_WITH(parse_hf_json(std::string(65, '['), "x.json"),
                      "x.json:1:65: nested deeper than 64 levels");
  // A million levels must not need a million stack frames.
  REQUIRE_THROWS_AS(parse_hf_json(std::string(1'000'000, '['), "x.json"), Error);
  // Brackets inside a text are no nesting.
  REQUIRE_NOTHROW(parse_hf_json("[\"" + std::string(1000, '[') + "\"]", "x.json"));
}

TEST_CASE("json: more than 16 MiB are refused", "[models]") {
  const std::string text(16 * 1024 * 1024 + 1, ' ');
  REQUIRE_THROWS_WITH(parse_hf_json(text, "x.json"),
                      "x.json: more than 16777216 bytes; a configuration is smaller");
}

TEST_CASE("json: a key that stands twice in one object is refused", "[models]") {
  REQUIRE_THROWS_WITH(parse_hf_json(R"({"a": {"b": 1, "c": 2, "b": 3}})", "x.json"),
                      "x.json: key 'b' stands twice in one object; keep one");
  REQUIRE_NOTHROW(parse_hf_json(R"({"b": {"b": 1}, "c": {"b": 2}})", "x.json"));
}
