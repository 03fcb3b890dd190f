// Real plans on real memory: the small scenarios in fewer bytes, and random layouts.
#include <catch2/catch.hpp>

#include <filesystem>
#include <random>

#include "executor/execute.h"
#include "scenarios/scenario.h"
#include "tests/support/m2n_case.h"
#include "tests/support/short_dims.h"
#include "tests/support/small_refits.h"

namespace refit::test {
namespace {

std::vector<std::filesystem::path> small_scenarios() {
  std::vector<std::filesystem::path> files;
  const std::string folder = std::string(REFIT_SOURCE_DIR) + "/scenarios/small";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  return files;
}

// All ranks, cuts and parcels in few bytes, in about as many buckets as the whole refit has.
Scenario in_small(Scenario s) {
  const std::int64_t buckets = s.refit.unique_bytes() / s.plan.bucket_bytes + 1;
  s.refit = with_short_dims(std::move(s.refit), {.rows = 6, .members = 4});
  s.plan.bucket_bytes = s.refit.unique_bytes() / buckets + 1;
  return s;
}

ExecuteOptions once() {
  ExecuteOptions options;
  options.iterations = 1;
  options.warmup = 0;
  return options;
}

}  // namespace

TEST_CASE("inproc: every small scenario arrives byte for byte under every strategy", "[executor]") {
  for (const auto& file : small_scenarios()) {
    const Scenario s = in_small(load_scenario(file.string()));
    CAPTURE(file.filename().string());
    for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid", "optimal"}) {
      CAPTURE(strategy);
      const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
      ExecuteOptions options = once();
      options.moves.piece_bytes = 1024;  // so that collectives are several pieces here, too
      REQUIRE(execute_inproc(schedule, s.refit, s.cluster, options).wrong_bytes == 0);
    }
  }
}

TEST_CASE("inproc: 300 random layout pairs arrive byte for byte", "[executor]") {
  const unsigned seed = 31;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const int from = 1 + static_cast<int>(pick(8)), to = 1 + static_cast<int>(pick(8));
    const auto sources = all_layouts({16, 24}, 0, from);
    const auto destinations = all_layouts({16, 24}, from, to);
    const Refit refit =
        refit_of(sources[pick(sources.size())], destinations[pick(destinations.size())], from + to);
    std::vector<int> domains;
    for (int left = from + to; left > 0; left -= 3) domains.push_back(std::min(left, 3));
    const Cluster cluster = cluster_of_domains(domains);
    const char* const strategies[] = {"gather_broadcast", "direct", "reshard"};
    const char* strategy = strategies[pick(3)];
    CAPTURE(round, from, to, strategy);
    PlanOptions options;
    options.chunks = 1 + static_cast<int>(pick(4));
    options.bucket_bytes = 100;
    const Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
    REQUIRE(execute_inproc(schedule, refit, cluster, once()).wrong_bytes == 0);
  }
}

}  // namespace refit::test
