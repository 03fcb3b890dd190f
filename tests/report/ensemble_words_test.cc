#include "report/ensemble_words.h"

#include <catch2/catch.hpp>

#include "report/json.h"

using namespace refit;

namespace {

StrategyResult row(const char* strategy, double mean_s, double spread_s) {
  StrategyResult result;
  result.strategy = strategy;
  result.ensemble =
      Ensemble{mean_s - spread_s / 2, mean_s, mean_s + spread_s / 2, mean_s, /*members=*/10};
  return result;
}

}  // namespace

TEST_CASE("ensemble words: means that differ by less than the larger spread are a tie",
          "[report][ensemble]") {
  // 10 ms apart. A spread of 20 ms on either side hides that; 5 ms on both does not.
  using Groups = std::vector<std::vector<std::size_t>>;
  CHECK(ties({row("a", 1.00, 0.020), row("b", 1.01, 0.001)}) == Groups{{0, 1}});
  CHECK(ties({row("a", 1.00, 0.001), row("b", 1.01, 0.020)}) == Groups{{0, 1}});
  CHECK(ties({row("a", 1.00, 0.005), row("b", 1.01, 0.005)}).empty());
}

TEST_CASE("ensemble words: a tie is with the fastest of the group, not with a neighbour",
          "[report][ensemble]") {
  // b is within 15 ms of a, c within 15 ms of b but not of a: c begins a group of its own.
  using Groups = std::vector<std::vector<std::size_t>>;
  const std::vector<StrategyResult> rows = {row("c", 1.02, 0.015), row("a", 1.00, 0.015),
                                            row("b", 1.01, 0.015)};
  CHECK(ties(rows) == Groups{{1, 2}});
  CHECK(ties({row("alone", 1, 1)}).empty());
  CHECK(ties({StrategyResult{}, StrategyResult{}}).empty());
}

TEST_CASE("ensemble words: means, spreads and ties in lines", "[report][ensemble]") {
  SimulationReport report;
  report.strategies = {row("reshard", 1.00, 0.02), StrategyResult{}, row("hybrid", 1.01, 0.01)};
  CHECK(ensemble_lines(report) ==
        "\nensemble    reshard: mean 1.00 s of 10 runs, spread 20.00 ms (2 %)\n"
        "ensemble    hybrid: mean 1.01 s of 10 runs, spread 10.00 ms (0.99 %)\n"
        "            sizes differ by up to 0.1 %, first ops start up to 10.00 us late\n"
        "            reshard and hybrid are a tie: they differ by less than the spread\n");
  CHECK(ensemble_lines({}).empty());
}

TEST_CASE("ensemble words: the numbers pass through JSON whole", "[report][ensemble]") {
  const StrategyResult before = row("a", 1.0 / 3, 0.1);
  const StrategyResult after = parse_strategy_result(to_json_text(before));
  REQUIRE(after.ensemble.has_value());
  CHECK(after.ensemble->mean_s == before.ensemble->mean_s);
  CHECK(after.ensemble->least_s == before.ensemble->least_s);
  CHECK(after.ensemble->median_s == before.ensemble->median_s);
  CHECK(after.ensemble->most_s == before.ensemble->most_s);
  CHECK(after.ensemble->members == 10);
}
