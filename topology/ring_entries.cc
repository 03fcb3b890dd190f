#include "topology/ring_entries.h"

#include <algorithm>

namespace refit {

std::vector<std::vector<Rank>> ring_entries(const Cluster& cluster,
                                            const std::vector<std::vector<Rank>>& domains) {
  const auto narrowest =
      std::min_element(domains.begin(), domains.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<std::vector<Rank>> entries;
  for (const std::vector<Rank>& members : domains) {
    if (members.size() == narrowest->size()) {
      entries.push_back(members);
      continue;
    }
    std::vector<bool> taken(members.size(), false);
    std::vector<Rank>& chosen = entries.emplace_back();
    for (const Rank like : *narrowest) {
      std::size_t best = members.size();
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (taken[i]) continue;
        if (best == members.size()) best = i;
        if (cluster.rail(members[i]) == cluster.rail(like)) {
          best = i;
          break;
        }
      }
      taken[best] = true;
      chosen.push_back(members[best]);
    }
  }
  return entries;
}

}  // namespace refit
