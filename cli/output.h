#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace refit {

// To standard output. Error(environment) if it does not take the text.
void print(std::string_view text);
void flush_output();

// A whole file, or Error(environment); also if it is larger than 1 GiB, or endless.
std::string read_file(const std::string& path);

// The command line, so that no file that it names is overwritten by another of its options.
void note_arguments(std::span<const char* const> words);

// "refit: note: ..." on standard error.
void print_note(const std::string& text);

// Error(bad_input) if writing `output` would overwrite `input`, any file that the command line
// names besides, or one that was read.
void require_other_file(const std::string& input, const std::string& output);

// Writes a file so that it is there whole or not at all: into a new file beside it, then renamed.
// "-" is standard output. Devices and pipes are written directly. Error(environment) names the
// path.
void write_output(const std::string& path, const std::function<void(std::ostream&)>& write);
void write_output(const std::string& path, std::string_view text);

// The same for what can't be streamed: `write` fills the file it is given the path of.
void write_whole_file(const std::string& path,
                      const std::function<void(const std::string&)>& write);

}  // namespace refit
