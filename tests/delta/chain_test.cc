#include <catch2/catch.hpp>

#include "delta/chain.h"

namespace refit {
namespace {

using Offers = std::vector<std::size_t>;
using Chain = std::optional<Offers>;

// Versions 0 to 4 by single deltas of 10 bytes, 0 to 4 and 2 to 4 merged, an anchor of version 2.
const std::vector<DeltaOffer> kOffers = {
    {0, 1, false, 10}, {1, 2, false, 10}, {2, 3, false, 10}, {3, 4, false, 10},
    {0, 4, false, 30}, {2, 4, false, 20}, {0, 2, true, 100},
};

TEST_CASE("chain: a merged delta is taken before the chain it replaces", "[delta]") {
  CHECK(cheapest_chain(kOffers, 0, 4) == Chain(Offers{4}));     // 30 < 40
  CHECK(cheapest_chain(kOffers, 2, 4) == Chain(Offers{5}));     // 20 = 20, but one
  CHECK(cheapest_chain(kOffers, 1, 4) == Chain(Offers{1, 5}));  // 10 + 20, two before three
  CHECK(cheapest_chain(kOffers, 0, 3) == Chain(Offers{0, 1, 2}));
}

TEST_CASE("chain: a late joiner begins with an anchor", "[delta]") {
  CHECK(cheapest_chain(kOffers, std::nullopt, 4) == Chain(Offers{6, 5}));
  CHECK(cheapest_chain(kOffers, std::nullopt, 2) == Chain(Offers{6}));
  CHECK(cheapest_chain(kOffers, std::nullopt, 1) == std::nullopt);
}

TEST_CASE("chain: an anchor helps whoever is too far behind or ahead", "[delta]") {
  CHECK(cheapest_chain(kOffers, 9, 4) == Chain(Offers{6, 5}));
  CHECK(cheapest_chain({{0, 1, false, 70}, {1, 2, false, 70}, {0, 2, true, 100}}, 0, 2) ==
        Chain(Offers{2}));
}

TEST_CASE("chain: who has it needs nothing, and no way is none", "[delta]") {
  CHECK(cheapest_chain(kOffers, 3, 3) == Chain(Offers{}));
  CHECK(cheapest_chain({}, 3, 4) == std::nullopt);
  CHECK(cheapest_chain({{5, 5, false, 1}, {6, 5, false, 1}}, 6, 5) == std::nullopt);
}

}  // namespace
}  // namespace refit
