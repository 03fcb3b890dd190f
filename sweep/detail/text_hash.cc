#include "sweep/detail/text_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace refit::detail {

std::string text_hash(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace refit::detail
