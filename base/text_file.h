#pragma once

#include <cstddef>
#include <string>

namespace refit {

// A file's bytes, at most one more than `most_bytes`: the reader sees that a larger file (or an
// endless device) is too large. Error(environment) if the file can't be read.
std::string read_text_file(const std::string& path, std::size_t most_bytes);

// A file was read, by whatever means; and whether this one was, under any of its names. So no
// command overwrites what its answer comes from.
void note_read(const std::string& path);
bool was_read(const std::string& path);

}  // namespace refit
