// What the fuzzer begins with, and what it has found.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <catch2/catch.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

TEST_CASE("machines: every file of the fuzzer's corpus is read or refused", "[import]") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(REFIT_CORPUS)) {
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    REQUIRE_NOTHROW(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    ++files;
  }
  REQUIRE(files >= 7);
}
