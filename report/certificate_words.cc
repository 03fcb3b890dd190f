#include "report/certificate_words.h"

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

std::string ratio_words(const Certificate& certificate) {
  const std::string wire = "wire-only " + format_seconds(certificate.wire_s);
  if (const auto ratio = certificate.ratio())
    return fmt::format("{} = {:.3f} x bound", wire, *ratio);
  if (!certificate.latency_dominates()) return wire;  // no byte must move
  return fmt::format("{}, no ratio: latency dominates where the bound is under {}", wire,
                     format_seconds(certificate.least_compared_s()));
}

std::string pipeline_words(const Certificate& certificate) {
  if (certificate.chunk_bytes == 0) return {};  // no transfers over the network
  const std::string chunk = format_bytes(static_cast<double>(certificate.chunk_bytes));
  if (certificate.relay_depth == 0) return fmt::format("; chunk {}, no relays", chunk);
  return fmt::format("; chunk {}, relays {} deep, {} to fill", chunk, certificate.relay_depth,
                     format_seconds(certificate.fill_s));
}

}  // namespace

std::string certificate_words(const Certificate& certificate) {
  return fmt::format("{}{}; plan {}", ratio_words(certificate), pipeline_words(certificate),
                     certificate.plan);
}

}  // namespace refit
