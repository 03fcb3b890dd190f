#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  refit::fuzz::delta_segment(bytes, size);
  return 0;
}
