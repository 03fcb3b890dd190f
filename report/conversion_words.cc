#include "report/conversion_words.h"

#include <fmt/format.h>

#include "base/units.h"

namespace refit {

std::string conversion_words(const ConversionTotal& total) {
  return fmt::format("{}: {} ({}), {} tensor{}, {} read and {} written by all ranks",
                     to_string(total.side), to_string(total.op), total.words,
                     format_count(total.tensors), total.tensors == 1 ? "" : "s",
                     format_bytes(static_cast<double>(total.read_bytes)),
                     format_bytes(static_cast<double>(total.written_bytes)));
}

}  // namespace refit
