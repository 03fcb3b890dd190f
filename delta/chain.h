#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace refit {

// A delta or an anchor that could be fetched.
struct DeltaOffer {
  std::uint64_t base_version = 0;  // of no meaning for an anchor
  std::uint64_t target_version = 0;
  bool anchor = false;
  std::uint64_t bytes = 0;
};

// Which offers lead to the wanted version, in order of application: the fewest bytes, then the
// fewest deltas, then those offered first. `own_version` is what is held; nothing: a late joiner,
// who must begin with an anchor. Nothing if no chain leads there; no offers if it is held already.
//
// One merged delta is smaller than the chain it was merged from, so it is what gets taken.
std::optional<std::vector<std::size_t>> cheapest_chain(const std::vector<DeltaOffer>& offers,
                                                       std::optional<std::uint64_t> own_version,
                                                       std::uint64_t wanted_version);

}  // namespace refit
