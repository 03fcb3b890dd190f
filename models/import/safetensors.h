#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

// A tensor of a .safetensors file. Its dtype is the file's word ("BF16", "F8_E4M3"), since files
// know more of them than planning does (parse_dtype() reads those that planning knows).
struct SafetensorsTensor {
  std::string name;
  std::string dtype;
  int bits = 16;  // of an element
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // in the file
  std::uint64_t bytes = 0;

  friend bool operator==(const SafetensorsTensor&, const SafetensorsTensor&) = default;
};

// What a .safetensors file says before its data: eight bytes of length, JSON of that length, data.
struct SafetensorsHeader {
  std::uint64_t data_begin = 0;
  std::vector<SafetensorsTensor> tensors;  // in the order of the data, which they cover
};

// Only the file's beginning is looked at; `file_bytes` is its size, and `where` names it.
// Error(bad_input): cut off, no JSON, keys twice, an unknown dtype, a size that is not that of the
// shape, data with holes, overlaps or beyond the end. Memory in proportion to the header that is
// there.
SafetensorsHeader read_safetensors_header(std::span<const std::byte> beginning,
                                          std::uint64_t file_bytes, const std::string& where);

// The file beside which a checkpoint of several files lists them.
inline constexpr std::string_view kSafetensorsIndex = "model.safetensors.index.json";

// Tensor name to file name, of such a list. File names are plain names: Error(bad_input) for a
// path.
std::map<std::string, std::string> read_safetensors_index(const std::string& text,
                                                          const std::string& where);

}  // namespace refit
