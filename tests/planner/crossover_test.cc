#include "planner/crossover.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace refit;

namespace {

// One trainer sends 2 GB to one engine; a core scans 2 GB/s and all else of coding is free.
struct Case {
  Cluster cluster;
  Refit refit;
  PlanOptions plan;
  NetworkModel model = wire_only();

  static Cluster two_gpus() {
    NodeGroupSpec group;
    group.name = "one";
    group.nodes = 2;
    group.gpus_per_node = group.nvlink_domain_gpus = group.nics_per_node = 1;
    group.nic_bytes_per_s = 1e9;
    return Cluster({{group}, {{}}, {"here"}, {}});
  }

  Case() : cluster(two_gpus()) {
    refit.ranks = 2;
    refit.stages = 1;
    refit.sources = {Rank(0)};
    refit.destinations = {Rank(1)};
    const std::vector<std::int64_t> shape = {1, 1'000'000'000};
    refit.classes.push_back({"all",
                             Dtype::bf16,
                             Role::attention,
                             false,
                             0,
                             {0},
                             Layout(shape, Mesh::row_major(Rank(0), {{"r", 1}}), {replicate()}),
                             Layout(shape, Mesh::row_major(Rank(1), {{"r", 1}}), {replicate()}),
                             1,
                             ""});
    plan.delta = DeltaOptions{{Codec::rice, CodingPlace::host, 1, true}, {0}, ""};
    plan.payload_bytes = 2'000'000'000;
    model.delta_scan_bytes_per_s = 2e9;
  }

  CrossoverQuestion question() const {
    return {refit,
            cluster,
            plan,
            model,
            {named_policy("relay_tree"), named_policy("delta_relay_tree")},
            LinkKind::nic,
            {1e9, 10e9},
            {0.01}};
  }
};

}  // namespace

TEST_CASE("crossover: found where scanning takes as long as sending what it saves",
          "[planner][crossover]") {
  const Case c;
  const Crossover found = find_crossover(c.question());
  // Whole: 2e9 / b. Changes: 1 s of scanning, then 2e9 s / b with the share s of rice at 1 %.
  // Equal at b = 2e9 (1 - s), about 1.99e9.
  const double share = coded_share(Codec::rice, 0.01, Dtype::bf16);
  REQUIRE(found.crossings.size() == 1);
  const Crossing& crossing = found.crossings.front();
  CHECK(crossing.of_bandwidth);
  CHECK(crossing.bytes_per_s == Approx(2e9 * (1 - share)).epsilon(0.01));
  CHECK(crossing.below == "delta_relay_tree");
  CHECK(crossing.above == "relay_tree");
  CHECK(crossing.seconds == Approx(1 + share).epsilon(0.01));
  CHECK(found.seconds[0][0][0] == Approx(2.0));
  CHECK(found.seconds[0][0][1] == Approx(1 + 2 * share).epsilon(1e-6));
  CHECK(found.fastest == std::vector<std::vector<std::size_t>>{{1}, {0}});
}

TEST_CASE("crossover: more changes make the whole the faster way", "[planner][crossover]") {
  Case c;
  c.model.delta_scan_bytes_per_s = 2e9 / 1.8;  // 1.8 s, so that 10 % of 2 s may be sent
  CrossoverQuestion question = c.question();
  question.bytes_per_s = {1e9};
  question.changed = {0.01, 1};
  const Crossover found = find_crossover(question);
  REQUIRE(found.crossings.size() == 1);
  CHECK_FALSE(found.crossings[0].of_bandwidth);
  const double at = found.crossings[0].changed;
  CHECK(coded_share(Codec::rice, at, Dtype::bf16) == Approx(0.1).epsilon(0.02));
}

TEST_CASE("crossover: what cannot be compared is refused", "[planner][crossover]") {
  Case c;
  CrossoverQuestion no_wan = c.question();
  no_wan.link = LinkKind::wan;
  CHECK_THROWS_WITH(find_crossover(no_wan), Catch::Matchers::Contains("no WAN link"));
  CrossoverQuestion one_way = c.question();
  one_way.ways.pop_back();
  CHECK_THROWS_WITH(find_crossover(one_way), Catch::Matchers::Contains("two strategies or more"));
  CrossoverQuestion no_changes = c.question();
  no_changes.plan.delta.reset();
  CHECK_THROWS_WITH(find_crossover(no_changes), Catch::Matchers::Contains("`delta`"));
}
