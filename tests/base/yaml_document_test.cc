#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/yaml.h"

namespace refit {

namespace {

YamlNode parse(const std::string& text) { return YamlNode::parse_text(text, "t.yaml"); }

std::string complaint(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "(accepted)";
}

std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("yaml document: a key that repeats in one map is refused", "[base][yaml]") {
  CHECK(complaint("a: 1\nb: 2\na: 3\n") ==
        "t.yaml:3:1: key 'a' repeats, it stands first in line 1; keep one");
  CHECK(complaint("x:\n  - k: 1\n  - k: 1\n    'k': 2\n") ==
        "t.yaml:4:5: x[1]: key 'k' repeats, it stands first in line 3; keep one");
  CHECK(complaint("a: {k: 1}\nb: {k: 1}\n") == "(accepted)");
}

TEST_CASE("yaml document: 64 levels are read and 65 are refused", "[base][yaml]") {
  CHECK(complaint(repeat("[", 64) + repeat("]", 64)) == "(accepted)");
  CHECK(complaint(repeat("[", 65) + repeat("]", 65)) ==
        "t.yaml:1:65: nests deeper than 64 levels; write flatter lists and maps");
  // Two columns a level in block style, four a level as flow maps.
  CHECK(complaint(repeat("- ", 65)) ==
        "t.yaml:1:129: nests deeper than 64 levels; write flatter lists and maps");
  CHECK(complaint(repeat("{a: ", 65) + repeat("}", 65)) ==
        "t.yaml:1:257: nests deeper than 64 levels; write flatter lists and maps");
}

TEST_CASE("yaml document: bottomless nesting is refused before any stack runs out",
          "[base][yaml]") {
  // Half a million levels need some 50 MB of stack in a recursive parser. Each way to open a level
  // counts.
  for (const char* level :
       {"[", "{", "- ", "? ", "{a: ", "[a: ", "[? ", ": ", "[: ", "!t [", "&a ["}) {
    CAPTURE(level);
    const std::string message = complaint(repeat(level, 500'000));
    CHECK(message.starts_with("t.yaml:1:"));
  }
}

TEST_CASE("yaml document: an alias is the value it names, at that value's place", "[base][yaml]") {
  const YamlNode root = parse("a: &side {tensor: 4}\nb: *side\nc: [&x 1, *x]\n");
  CHECK(root.at("b").at("tensor").integer(1, 8) == 4);
  CHECK(root.at("b").at("tensor").where() == "t.yaml:1:19");
  CHECK(root.at("b").at("tensor").path() == "b.tensor");
  CHECK(root.at("c").items()[1].integer(0, 9) == 1);
}

TEST_CASE("yaml document: aliases of aliases can't make a walk long", "[base][yaml]") {
  // Ten lines, each ten times the one above: the last would be 10^10 values.
  std::string text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string above = "*l" + std::to_string(i - 1);
    const std::string name = "l" + std::to_string(i);
    text += name + ": &" + name + " [" + above + repeat(", " + above, 9) + "]\n";
  }
  // A list l<n> holds V(n) values: V(0) = 11 and V(n) = 1 + 10 V(n-1), so 111; 1,111; 11,111;
  // 111,111. With the root and five keys, lines 1 to 5 hold 1 + 5 + 123,455 = 123,461, line 6 adds
  // its key and its list, and (500,000 - 123,463) / 111,111 = 3.4: the fourth alias is too many.
  // It stands after "l5: &l5 [" and three times "*l4, ": column 9 + 15 + 1.
  CHECK(complaint(text) ==
        "t.yaml:6:25: l5: more than 500000 values, aliases counted as often as they stand for one; "
        "write a smaller file");
}

TEST_CASE("yaml document: an alias can't hide depth", "[base][yaml]") {
  // 40 levels by themselves, 1 for the root map, 24 around the alias: 65.
  const std::string deep = "a: &a " + repeat("[", 40) + repeat("]", 40) + "\n";
  CHECK(complaint(deep + "b: " + repeat("[", 23) + "*a" + repeat("]", 23)) == "(accepted)");
  CHECK(complaint(deep + "b: " + repeat("[", 24) + "*a" + repeat("]", 24)) ==
        "t.yaml:2:28: nests deeper than 64 levels; write flatter lists and maps");
}

TEST_CASE("yaml document: an alias inside its own value is refused", "[base][yaml]") {
  CHECK(complaint("a: &a [1, *a]\n") ==
        "t.yaml:1:11: a: an alias inside the value it stands for; write the value out");
}

TEST_CASE("yaml document: an alias without an anchor is refused", "[base][yaml]") {
  CHECK(complaint("a: *nobody\n") == "t.yaml:1:4: not YAML: the referenced anchor is not defined");
}

TEST_CASE("yaml document: merge keys, tags and keys that are no words are refused",
          "[base][yaml]") {
  CHECK(complaint("a: &a {x: 1}\nb:\n  <<: *a\n") ==
        "t.yaml:3:3: b: merge keys ('<<') are not read; write the keys out");
  CHECK(complaint("a: !!int 3\n") ==
        "t.yaml:1:4: tag 'tag:yaml.org,2002:int' is not read; leave it out");
  CHECK(complaint("a: !mine [3]\n") == "t.yaml:1:4: tag '!mine' is not read; leave it out");
  CHECK(complaint("[1, 2]: 3\n") == "t.yaml:1:1: a key must be a word or a number");
  CHECK(complaint("~: 3\n") == "t.yaml:1:1: a key must be a word or a number");
}

TEST_CASE("yaml document: half a million values are read and no more", "[base][yaml]") {
  // The list itself is one value.
  CHECK(complaint("[" + repeat("a,", 499'999) + "]") == "(accepted)");
  CHECK(
      complaint("[" + repeat("a,", 500'000) + "]") ==
      "t.yaml:1:1000000: more than 500000 values, aliases counted as often as they stand for one; "
      "write a smaller file");
}

TEST_CASE("yaml document: a million punctuation marks are read and no more", "[base][yaml]") {
  CHECK(complaint("# " + repeat(",", 1'000'000)) == "(accepted)");
  CHECK(complaint("# " + repeat(",", 1'000'001)) ==
        "t.yaml: more than 1000000 commas, colons, brackets and quotes; write a smaller file");
}

TEST_CASE("yaml document: a second document is refused", "[base][yaml]") {
  CHECK(complaint("a: 1\n---\nb: 2\n") ==
        "t.yaml:2:1: a second document starts here; a file holds one");
  CHECK(complaint("---\na: 1\n...\n") == "(accepted)");
  CHECK(complaint("%YAML 1.2\n---\na: 1\n") == "(accepted)");
}

TEST_CASE("yaml document: an empty file holds nothing", "[base][yaml]") {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n"}) {
    CAPTURE(text);
    const YamlNode root = parse(text);
    CHECK_FALSE((root.is_map() || root.is_list() || root.is_scalar()));
  }
}

TEST_CASE("yaml document: Windows line ends and a byte order mark are fine", "[base][yaml]") {
  const YamlNode root = parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb:\r\n  c: two words\r\n");
  CHECK(root.where() == "t.yaml:1:1");
  CHECK(root.at("a").text() == "1");
  CHECK(root.at("b").at("c").text() == "two words");
  CHECK(root.at("b").at("c").where() == "t.yaml:3:6");
}

TEST_CASE("yaml document: what is not YAML is refused at its place", "[base][yaml]") {
  CHECK(complaint("a: [1, 2\nb: 3\n") == "t.yaml:2:2: not YAML: end of sequence flow not found");
  CHECK(complaint("a: 1\n  b: 2\n") == "t.yaml:2:4: not YAML: illegal map value");
  CHECK(complaint("[a, b") == "t.yaml:2:1: not YAML: end of sequence flow not found");
  CHECK(complaint("a: 1\n]\n").starts_with("t.yaml:2:1: "));
}

TEST_CASE("yaml document: a quote that never closes does not swallow the file", "[base][yaml]") {
  // yaml-cpp 0.7 reads the rest of the file as the quoted text and is content.
  CHECK(complaint("a: 'open\nb: 2\n") == "t.yaml:3:1: a quoted text is not closed before here");
  CHECK(complaint("a: \"open") == "t.yaml:2:1: a quoted text is not closed before here");
}

TEST_CASE("yaml document: a key without a colon is refused", "[base][yaml]") {
  // yaml-cpp 0.7 takes a word in the last line for a key.
  CHECK(complaint("a: 1\nb\n") == "t.yaml:2:1: 'b' has no value; write 'b: value'");
  CHECK(complaint("a:\nb:\n") == "(accepted)");  // nothing, said so
}

TEST_CASE("yaml document: block text keeps its line ends", "[base][yaml]") {
  CHECK(parse("a: |\n  x\n  y\n").at("a").text() == "x\ny\n");
  CHECK(parse("a: |-\r\n  x\r\n  y\r\n").at("a").text() == "x\ny");
}

TEST_CASE("yaml document: bytes that are not text are refused at their place", "[base][yaml]") {
  using namespace std::string_literals;
  CHECK(complaint("a: 1\nb: \x04 2\n") ==
        "t.yaml:2:4: byte 0x04 is not text; save the file as UTF-8");
  CHECK(complaint("a\0b: 1\n"s) == "t.yaml:1:2: byte 0x00 is not text; save the file as UTF-8");
  CHECK(complaint("\xFF\xFE"s + "a\0"s) ==
        "t.yaml:1:1: byte 0xff is not text; save the file as UTF-8");  // UTF-16
  CHECK(complaint("a: \xE9\n") == "t.yaml:1:4: byte 0xe9 is not text; save the file as UTF-8");
  CHECK(complaint("a: \xC0\x80\n").starts_with("t.yaml:1:4: byte 0xc0 "));          // overlong NUL
  CHECK(complaint("a: \xED\xA0\x80\n").starts_with("t.yaml:1:4: byte 0xed "));      // a surrogate
  CHECK(complaint("a: \xF4\x90\x80\x80\n").starts_with("t.yaml:1:4: byte 0xf4 "));  // past U+10FFFF
  CHECK(complaint("a: \xE2\x82").starts_with("t.yaml:1:4: byte 0xe2 "));            // cut short
  CHECK(parse("a: \xE2\x82\xAC \xF0\x9F\x98\x80").at("a").text() ==
        "\xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST_CASE("yaml document: what a message quotes is cut after 60 bytes", "[base][yaml]") {
  CHECK(complaint(std::string(200, 'k') + ": 1\n" + std::string(200, 'k') + ": 2\n") ==
        "t.yaml:2:1: key '" + std::string(60, 'k') +
            "...' repeats, it stands first in line 1; keep one");
}

}  // namespace

}  // namespace refit
