#include <string>

#include <catch2/catch.hpp>

#include "base/embedded.h"

namespace refit {

std::span<const EmbeddedFile> embedded_test_files();

namespace {

TEST_CASE("embed: files come in the given order, named without folder and last suffix",
          "[base][embed]") {
  const auto files = embedded_test_files();
  REQUIRE(files.size() == 3);
  CHECK(files[0].name == "awkward");
  CHECK(files[1].name == "nothing");
  CHECK(files[2].name == "large.v1");
}

TEST_CASE("embed: what CMake and C++ would interpret arrives byte for byte", "[base][embed]") {
  // tests/base/embedded/awkward.txt, written out by hand.
  const std::string expected =
      "semi;colon [bracket] ]=] @AT@ ${var} $ENV{HOME} back\\slash \\n \"quote\" )refit_text\" "
      "#hash\r\n"
      "\ttab \xC2\xB5 ;;\n"
      "no newline at end";
  CHECK(embedded_test_files()[0].text == expected);
}

TEST_CASE("embed: an empty file is an empty text", "[base][embed]") {
  CHECK(embedded_test_files()[1].text.empty());
}

TEST_CASE("embed: a text over 64 KiB arrives whole", "[base][embed]") {
  // CMakeLists.txt writes 8192 lines of 16 bytes: 131,072 bytes.
  std::string expected;
  for (int i = 0; i < 8192; ++i) expected += "0123456789abcde\n";
  CHECK(expected.size() == 131'072);
  CHECK((embedded_test_files()[2].text == expected));  // no 128 KiB printed on failure
}

}  // namespace

}  // namespace refit
