#include <catch2/catch.hpp>

#include <random>

#include "schedule/verify.h"
#include "tests/support/element_oracle.h"
#include "tests/support/m2n_case.h"
#include "tests/support/small_refits.h"

namespace refit::test {
namespace {

const char* const kStrategies[] = {"gather_broadcast", "direct", "reshard"};

// One domain per side or pairs of ranks: with and without chains and NVLink fan-out.
Cluster domains_of(int ranks, int size) {
  std::vector<int> domains;
  for (int left = ranks; left > 0; left -= size) domains.push_back(std::min(left, size));
  return cluster_of_domains(domains);
}

std::string plan_and_run(const Refit& refit, const Cluster& cluster, const char* strategy,
                         int chunks) {
  PlanOptions options;
  options.chunks = chunks;
  options.bucket_bytes = 40;
  const Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
  const Diagnostics findings = verify(schedule, refit);
  if (!findings.empty()) return findings.front().where + ": " + findings.front().message;
  return run_elements(schedule, refit);
}

}  // namespace

TEST_CASE("every layout pair of an 8x8 tensor on up to 8 ranks a side arrives whole",
          "[planner][oracle]") {
  int pairs = 0;
  for (int from = 1; from <= 8; ++from) {
    const auto sources = all_layouts({8, 8}, 0, from);
    for (int to = 1; to <= 8; ++to) {
      const auto destinations = all_layouts({8, 8}, from, to);
      for (const Layout& source : sources) {
        for (const Layout& destination : destinations) {
          const Refit refit = refit_of(source, destination, from + to);
          // Every pair meets every strategy; domain size and chunks vary along the enumeration.
          const int domain = 1 + pairs % 4;
          const int chunks = 1 + pairs % 3;
          for (const char* strategy : kStrategies) {
            const std::string fault =
                plan_and_run(refit, domains_of(from + to, domain), strategy, chunks);
            if (!fault.empty()) {
              CAPTURE(from, to, domain, chunks, strategy, fault);
              FAIL();
            }
          }
          ++pairs;
        }
      }
    }
  }
  REQUIRE(pairs == 96 * 96);  // 3, 3, 3, 12, 3, 21, 3 and 48 layouts on 1 to 8 ranks
}

TEST_CASE("layout pairs on the same or partly the same ranks arrive whole", "[planner][oracle]") {
  for (int ranks : {2, 4, 6, 8}) {
    const auto sources = all_layouts({8, 8}, 0, ranks);
    for (const int first : {0, ranks / 2}) {
      const auto destinations = all_layouts({8, 8}, first, ranks);
      for (std::size_t s = 0; s < sources.size(); ++s) {
        // A diagonal band: every layout on either side, not the full product.
        for (std::size_t d = s % 3; d < destinations.size(); d += 3) {
          const Refit refit = refit_of(sources[s], destinations[d], first + ranks);
          for (const char* strategy : kStrategies) {
            const std::string fault =
                plan_and_run(refit, domains_of(first + ranks, 4), strategy, 2);
            if (!fault.empty()) {
              CAPTURE(ranks, first, s, d, strategy, fault);
              FAIL();
            }
          }
        }
      }
    }
  }
}

TEST_CASE("random tensors, splits, rank lists and domains arrive whole", "[planner][oracle]") {
  const unsigned seed = 20240611;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    std::vector<std::int64_t> shape{pick(1, 3)};
    for (int d = pick(1, 3); d > 0; --d) shape.push_back(pick(1, 7));
    const int ranks = pick(4, 14);
    std::vector<Rank> order;
    for (int r = 0; r < ranks; ++r) order.push_back(Rank(r));
    const auto layout = [&]() {
      // Any ranks, in any order: meshes over rank lists.
      std::shuffle(order.begin(), order.end(), random);
      std::vector<MeshAxis> axes{{"a", pick(1, 3), 1}, {"b", pick(1, 2), 1}, {"c", pick(1, 2), 1}};
      while (axes[0].size * axes[1].size * axes[2].size > ranks) axes[0].size = axes[2].size = 1;
      const auto count = static_cast<std::ptrdiff_t>(axes[0].size * axes[1].size * axes[2].size);
      std::vector<Placement> placements;
      for (int a = 0; a < 3; ++a) {
        const int dim = pick(0, static_cast<int>(shape.size()) - 1);
        const Split split = pick(0, 1) == 0 ? Split::chunk() : Split::balanced();
        placements.push_back(dim == 0 ? replicate() : shard(dim, split));
      }
      return Layout(shape, Mesh({order.begin(), order.begin() + count}, axes), placements);
    };
    const Layout source = layout();
    const Layout destination = layout();
    const Refit refit = refit_of(source, destination, ranks);
    for (const char* strategy : kStrategies) {
      CAPTURE(strategy);
      REQUIRE(plan_and_run(refit, domains_of(ranks, pick(1, 5)), strategy, pick(1, 4)) == "");
    }
  }
}

}  // namespace refit::test
