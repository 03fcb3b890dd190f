#pragma once

#include <string>

namespace refit::detail {

// The text as yaml-cpp may safely see it: without a byte order mark and with an explicit end, since
// yaml-cpp 0.7 takes the end of the file for a missing closing quote. Error(bad_input) if it is too
// large, holds bytes that are not text, or so much punctuation that yaml-cpp, which queues a line's
// tokens (some 200 bytes each) before it reports any, would fill the memory.
std::string prepare_yaml_text(const std::string& text, const std::string& name);

}  // namespace refit::detail
