#include <catch2/catch.hpp>

#include "sim/fault.h"
#include "tests/support/m2n_case.h"

namespace refit::test {

TEST_CASE("fault: a lost source at half costs the detection and the rest from its replica",
          "[sim][fault]") {
  // Two replicas of one source shard, one destination; 100 GB over a NIC of 50 GB/s in 100 chunks.
  // Undisturbed 2 s. At 1 s the sender is lost, all know at 1.05 s; 50 chunks are there, the
  // replica sends the other 50 GB in 1 s: 2.05 s.
  const M2nCase c{{2, 1, 0}, {1, 1, 0}, {1'000, 100'000'000}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 100});
  const FaultPrediction p = predict_fault(schedule, refit, cluster, {Rank(0), 0.5, -1, 0.05});
  REQUIRE(p.undisturbed_s == Approx(2));
  REQUIRE(p.fault_s == Approx(1));
  REQUIRE(p.recovered_bytes == 50'000'000'000);
  REQUIRE(p.makespan_s == Approx(2.05).epsilon(1e-6));
  REQUIRE(p.unserved.empty());
}

TEST_CASE("fault: the only holder of a byte takes the tensor with it", "[sim][fault]") {
  const M2nCase c{{1, 2, 0}, {1, 2, 0}, {8, 8}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 4});
  const FaultPrediction p = predict_fault(schedule, refit, cluster, {Rank(0), 0.5, -1, 0.0});
  REQUIRE(p.unserved == std::vector<std::string>{"w"});
}

TEST_CASE("fault: a rank that does not exist is refused, and one that comes too late does nothing",
          "[sim][fault]") {
  const M2nCase c{{1, 2, 0}, {1, 2, 0}, {8, 8}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 4});
  REQUIRE_THROWS_WITH(predict_fault(schedule, refit, cluster, {Rank(9), 0.5, -1, 0.0}),
                      "fault: rank 9 does not exist; ranks are 0 to 3");
  const FaultPrediction late = predict_fault(schedule, refit, cluster, {Rank(0), 0.5, 1e9, 0.05});
  REQUIRE(late.makespan_s == late.undisturbed_s);
}

}  // namespace refit::test
