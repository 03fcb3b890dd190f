#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refit::fuzz {

// Good inputs to begin with, always the same, made by our own writers: a corpus that can be made
// again need not be kept.
struct Seed {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

std::vector<Seed> delta_file_seeds();
std::vector<Seed> delta_segment_seeds();
std::vector<Seed> safetensors_seeds();

}  // namespace refit::fuzz
