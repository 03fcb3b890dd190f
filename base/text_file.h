#pragma once

#include <cstddef>
#include <string>

namespace refit {

// A file's bytes, at most one more than `most_bytes`: the reader sees that a larger file (or an
// endless device) is too large. Error(environment) if the file can't be read.
std::string read_text_file(const std::string& path, std::size_t most_bytes);

}  // namespace refit
