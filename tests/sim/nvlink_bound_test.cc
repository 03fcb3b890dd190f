#include <catch2/catch.hpp>

#include "planner/plan.h"
#include "sim/flow_bound.h"
#include "sim/predict.h"
#include "tests/sim/parcels.h"
#include "tests/support/m2n_case.h"
#include "tests/support/random_refit.h"

using namespace refit;
using namespace refit::test;

namespace {

const char* const kNvlink = "NVLink and NICs of full domains together (linear program)";

}  // namespace

TEST_CASE(
    "nvlink bound: what only one rank of a domain has leaves it by NVLink or comes in over NICs",
    "[sim][bound]") {
  // Rank 0 has 9 GB for rank 1 and 9 GB for rank 2 of its domain; rank 3 outside has both, too.
  // Each of them alone could get its part in 9 / (450 + 50) = 18 ms, but rank 0 sends all 18 GB,
  // less what rank 3's one NIC does: 18 / (450 + 50) = 36 ms.
  const FlowBound bound = flow_bound({parcel({Rank{0}, Rank{3}}, {Rank{1}}, 9 * kGB),
                                      parcel({Rank{0}, Rank{3}}, {Rank{2}}, 9 * kGB)},
                                     cluster_of_domains({3, 1}));
  CHECK(bound.cuts.seconds == Approx(0.018));
  CHECK(bound.seconds == Approx(0.036));
  CHECK(bound.binding == kNvlink);
  // A tenth of it all comes over NICs.
  REQUIRE(bound.nic_shares.size() == 2);
  double share = 0;
  for (const auto& pair : bound.nic_shares) {
    for (const NicShare& nic : pair) share += nic.handed + nic.kept;
  }
  CHECK(share / 2 == Approx(0.1).epsilon(0.03));
}

TEST_CASE("nvlink bound: a rank outside sends only what its NIC lets out", "[sim][bound]") {
  // Eight ranks lack 1 GB that ranks 1 and 2 of their domain have and rank 0 outside: 8 GB over
  // eight NVLink ports and one NIC.
  std::vector<Rank> takers;
  for (int r = 3; r < 11; ++r) takers.emplace_back(r);
  const FlowBound bound =
      flow_bound({parcel({Rank{0}, Rank{1}, Rank{2}}, takers, kGB)}, cluster_of_domains({1, 10}));
  CHECK(bound.seconds == Approx(8.0 / (8 * 450 + 50)));
}

TEST_CASE("nvlink bound: where NICs come in, one hands on what it brings", "[sim][bound]") {
  // All of it comes from outside, and two of three want it. Bytes that both take in themselves come
  // in twice; others once, and leave that rank by NVLink.
  const FlowBound bound =
      flow_bound({parcel({Rank{3}}, {Rank{0}, Rank{1}}, 9 * kGB)}, cluster_of_domains({3, 1}));
  CHECK(bound.seconds == Approx(9.0 / 50));
  CHECK(bound.nic_shares.empty());  // NVLink is far from full
}

TEST_CASE("nvlink bound: no plan is faster, and `optimal` comes near it", "[sim][bound]") {
  // Ranks that train and generate: what they own is wanted by their neighbours.
  const auto seed = GENERATE(7289u, 8066u, 8152u, 9162u);
  CAPTURE(seed);
  const RandomRefit random = random_refit(seed);
  const FlowBound bound = flow_bound(find_parcels(random.refit), random.cluster);
  CHECK(bound.binding == kNvlink);
  for (const char* strategy : {"direct", "reshard", "hybrid", "gather_broadcast", "optimal"}) {
    CAPTURE(strategy);
    const Schedule schedule = plan(random.refit, random.cluster, named_policy(strategy));
    const double seconds = predict(schedule, random.cluster).makespan_s;
    CHECK(seconds >= bound.seconds * (1 - 1e-9));
    if (std::string(strategy) == "optimal") CHECK(seconds <= 1.05 * bound.seconds);
  }
}
