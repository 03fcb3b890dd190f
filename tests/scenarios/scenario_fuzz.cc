// Any text as a scenario: one that can be asked about, or an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "scenarios/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    refit::parse_scenario(std::string(reinterpret_cast<const char*>(bytes), size), "fuzz");
  } catch (const refit::Error&) {
  }
  return 0;
}
