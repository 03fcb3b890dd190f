#pragma once

#include <string>
#include <string_view>

namespace refit::detail {

// Text from a file as a message shows it: on one line, and cut after some 60 bytes.
std::string shown(std::string_view text);

}  // namespace refit::detail
