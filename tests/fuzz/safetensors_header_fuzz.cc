#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  refit::fuzz::safetensors_header(bytes, size);
  return 0;
}
