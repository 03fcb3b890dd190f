// Which solver is taken where nobody asked for one, and why.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/detail/solver_choice.h"
#include "sim/predict.h"
#include "tests/sim/flow_graphs.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

// So many transfers over one path of links with these weights.
detail::SolverChoice choice(int transfers, const std::vector<double>& weights) {
  FlowGraphWriter writer;
  std::vector<PathLink> links;
  for (const double weight : weights) links.push_back({writer.link(50e9), weight});
  const PathId path = writer.path(links);
  for (int i = 0; i < transfers; ++i) writer.task(path, 1e9);
  return detail::choose_solver(writer.finish());
}

}  // namespace

TEST_CASE("solver choice: SimGrid's own up to 500 transfers, ours above", "[sim][solver]") {
  REQUIRE(choice(1, {1, 1}).solver == Solver::native);
  REQUIRE(choice(1, {1, 1}).reason == "1 transfer");
  REQUIRE(choice(500, {1, 1}).solver == Solver::native);
  REQUIRE(choice(500, {1, 1}).reason == "500 transfers");
  REQUIRE(choice(501, {1, 1}).solver == Solver::incremental);
  REQUIRE(choice(501, {1, 1}).reason == "501 transfers, more than 500");
}

TEST_CASE("solver choice: ours where SimGrid would cross too many links", "[sim][solver]") {
  // 5 x 2,000 links are 10,000; a link of weight 3 counts three times: 10 x (999 + 3) are 10,020.
  REQUIRE(choice(5, std::vector<double>(2000, 0.5)).solver == Solver::native);
  std::vector<double> weights(1000, 1);
  REQUIRE(choice(10, weights).solver == Solver::native);
  weights[7] = 3;
  REQUIRE(choice(10, weights).solver == Solver::incremental);
  REQUIRE(choice(10, weights).reason == "10,020 links crossed, more than 10,000");
}

TEST_CASE("solver choice: ours where SimGrid can't repeat a link as often as it weighs",
          "[sim][solver]") {
  const std::string reason = "weights on one path that are no small multiples of each other";
  REQUIRE(choice(1, {0.25, 0.75}).solver == Solver::native);
  REQUIRE(choice(1, {0.25, 16}).solver == Solver::native);  // 64 times
  REQUIRE(choice(1, {0.25, 16.25}).reason == reason);       // 65 times
  REQUIRE(choice(1, {0.875, 1}).reason == reason);          // 8/7 times
  REQUIRE(choice(1, {1.0 / 3, 1}).solver == Solver::native);
}

TEST_CASE(
    "solver choice: a prediction says what was taken and why, and keeps to what was asked for",
    "[sim][solver]") {
  PlanWriter plan(2);
  plan.transfer(0, 1, 40e9);
  const Prediction by_size = predict(plan.schedule(), lone_gpus(2));
  REQUIRE(by_size.solver == "native");
  REQUIRE(by_size.solver_reason == "1 transfer");
  const Prediction asked =
      predict(plan.schedule(), lone_gpus(2), {wire_only(), Solver::incremental});
  REQUIRE(asked.solver == "incremental");
  REQUIRE(asked.solver_reason == "asked for");
}
