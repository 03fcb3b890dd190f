#include <string>

#include "base/error.h"
#include "models/import/safetensors.h"
#include "tests/fuzz/targets.h"

namespace refit::fuzz {

void safetensors_header(const std::uint8_t* bytes, std::size_t size) {
  const auto given = std::as_bytes(std::span(bytes, size));
  const auto try_it = [](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_input) throw;
    }
  };
  // The header as it is; with the data it may speak of; and the text behind the length alone.
  try_it([&] { read_safetensors_header(given, size, "fuzz"); });
  try_it([&] { read_safetensors_header(given, size + 64, "fuzz"); });
  try_it([&] {
    read_safetensors_index(std::string(reinterpret_cast<const char*>(bytes), size), "fuzz");
  });
}

}  // namespace refit::fuzz
