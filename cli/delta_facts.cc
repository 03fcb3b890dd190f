#include "cli/delta_facts.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"
#include "delta/size_model.h"

namespace refit {
namespace {

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string bytes_words(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

std::vector<std::pair<std::string, std::string>> delta_facts(
    const std::vector<DeltaVersion>& versions, const Coding& coding) {
  DeltaVersion sum;
  std::uint64_t first = 0, last = 0, anchors = 0;
  std::uint32_t compared = 0, unequal = 0;
  for (const DeltaVersion& version : versions) {
    compared += version.prints_compared;
    unequal += version.prints_unequal;
    sum.asked_again += version.asked_again;
    last = version.version;
    if (version.is_anchor != 0) {
      first = version.version;
      anchors += version.payload_bytes;
      continue;
    }
    sum.elements += version.elements;
    sum.changed += version.changed;
    sum.payload_bytes += version.payload_bytes;
    sum.code_bytes += version.code_bytes;
    sum.work += version.work;
  }
  const auto changed = static_cast<double>(sum.changed);
  const double rate = ratio(changed, static_cast<double>(sum.elements));
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("versions", anchors > 0
                                     ? fmt::format("{} to {}, after anchor {} ({} coded)",
                                                   first + 1, last, first, bytes_words(anchors))
                                     : fmt::format("{} to {}, after {}, which both sides had",
                                                   first + 1, last, first));
  facts.emplace_back("changed",
                     fmt::format("{:.3g} % of the elements in each version", 100 * rate));
  std::string sizes = "no change";
  if (sum.changed > 0) {
    sizes = fmt::format("{:.3f} in codes, {:.3f} with the payloads' heads",
                        static_cast<double>(sum.code_bytes) / changed,
                        static_cast<double>(sum.payload_bytes) / changed);
    sizes += fmt::format("; size model ({}, long segments) {:.3f}", to_string(coding.codec),
                         bytes_per_change(coding.codec, rate));
  }
  facts.emplace_back("bytes per change", sizes);
  facts.emplace_back(
      "bytes moved",
      fmt::format("{} instead of {} dense: {:.1f} times less", bytes_words(sum.work.wire_bytes),
                  bytes_words(sum.work.dense_wire_bytes),
                  ratio(static_cast<double>(sum.work.dense_wire_bytes),
                        static_cast<double>(sum.work.wire_bytes))));
  facts.emplace_back(
      "scan and code",
      fmt::format("{:.3g} GB/s of weights per core, with hashes and fingerprints",
                  1e-9 * ratio(static_cast<double>(sum.work.scanned_bytes), sum.work.scan_cpu_s)));
  facts.emplace_back(
      "check and apply",
      fmt::format("{:.3g} GB/s of weights per core, with the base checked before",
                  1e-9 * ratio(static_cast<double>(sum.work.applied_bytes), sum.work.apply_cpu_s)));
  if (sum.asked_again > 0) {
    facts.emplace_back("asked again",
                       fmt::format("{} payloads and segments that had been damaged",
                                   format_count(static_cast<std::int64_t>(sum.asked_again))));
  }
  facts.emplace_back("fingerprints",
                     compared == 0 ? "not compared"
                                   : fmt::format("{} of {} tensors of all versions equal on both "
                                                 "sides",
                                                 compared - unequal, compared));
  return facts;
}

}  // namespace refit
