#pragma once

#include <string>
#include <string_view>

namespace refit::detail {

// 64 bits of XXH3, in hexadecimal.
std::string text_hash(std::string_view text);

}  // namespace refit::detail
