// Any bytes as a Hugging Face config.json: a model, or an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "models/import/hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  refit::HfConfigOptions options;
  options.mtp = true;
  try {
    refit::parse_hf_config(std::string(reinterpret_cast<const char*>(bytes), size), "fuzz",
                           options);
  } catch (const refit::Error& error) {
    if (error.code() != refit::ErrorCode::bad_input) throw;
  }
  return 0;
}
