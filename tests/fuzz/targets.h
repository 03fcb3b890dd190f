#pragma once

#include <cstddef>
#include <cstdint>

// What is fuzzed. Each takes any bytes at all and returns; the only way out by exception that it
// swallows is Error(bad_input), our refusal. A crash, another exception or an allocation out of
// proportion is a finding.
namespace refit::fuzz {

void delta_file(const std::uint8_t* bytes, std::size_t size);  // read, then apply to zeros
// Three bytes say how the rest is read: as one payload of any mode, or as old and new elements that
// must come back (a difference there is a finding, too).
void delta_segment(const std::uint8_t* bytes, std::size_t size);
void safetensors_header(const std::uint8_t* bytes, std::size_t size);  // also as an index

}  // namespace refit::fuzz
