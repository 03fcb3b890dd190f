#include "executor/delta/compare_prints.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace refit {

void compare_prints(const Refit& refit, const std::vector<ShardPrint>& prints,
                    DeltaVersion& version) {
  struct Side {
    std::map<std::uint64_t, ShardPrint> shards;  // by place
    bool replicas_equal = true;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Side> sides;
  for (const ShardPrint& print : prints) {
    Side& side = sides[{print.tensor, print.is_destination}];
    const auto [at, is_new] = side.shards.try_emplace(print.place, print);
    if (!is_new && at->second.fingerprint != print.fingerprint) side.replicas_equal = false;
  }
  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    std::uint64_t sums[2] = {0, 0};
    bool whole = true, equal = true;
    for (const std::uint32_t s : {0u, 1u}) {
      std::uint64_t elements = 0;
      const Side& side = sides[{static_cast<std::uint32_t>(c), s}];
      for (const auto& [place, print] : side.shards) {
        sums[s] += print.fingerprint;
        elements += print.elements;
      }
      whole = whole && elements == static_cast<std::uint64_t>(refit.classes[c].elements());
      equal = equal && side.replicas_equal;
    }
    if (!whole) continue;
    ++version.prints_compared;
    if (!equal || sums[0] != sums[1]) ++version.prints_unequal;
  }
}

}  // namespace refit
