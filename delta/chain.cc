#include "delta/chain.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace refit {
namespace {

struct Reached {
  std::uint64_t bytes = 0;
  std::size_t deltas = 0;
  std::optional<std::size_t> last;  // offer; nothing for where one starts
};

}  // namespace

std::optional<std::vector<std::size_t>> cheapest_chain(const std::vector<DeltaOffer>& offers,
                                                       std::optional<std::uint64_t> own_version,
                                                       std::uint64_t wanted_version) {
  if (own_version == wanted_version) return std::vector<std::size_t>{};
  // Versions ascend along every delta, so one pass by target version sees each base before its use.
  std::vector<std::size_t> order(offers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return offers[a].target_version < offers[b].target_version;
  });

  std::map<std::uint64_t, Reached> reached;
  if (own_version) reached[*own_version] = {};
  for (const std::size_t i : order) {
    const DeltaOffer& offer = offers[i];
    Reached next{offer.bytes, 1, i};
    if (!offer.anchor) {
      const auto base = reached.find(offer.base_version);
      if (base == reached.end() || offer.base_version >= offer.target_version) continue;
      next.bytes += base->second.bytes;
      next.deltas += base->second.deltas;
    }
    const auto [there, is_new] = reached.try_emplace(offer.target_version, next);
    if (!is_new &&
        std::tie(next.bytes, next.deltas) < std::tie(there->second.bytes, there->second.deltas)) {
      there->second = next;
    }
  }

  if (!reached.contains(wanted_version)) return std::nullopt;
  std::vector<std::size_t> chain;
  for (std::uint64_t version = wanted_version;;) {
    const std::optional<std::size_t> last = reached.at(version).last;
    if (!last) break;
    chain.push_back(*last);
    if (offers[*last].anchor) break;
    version = offers[*last].base_version;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace refit
