#include "sim/ensemble.h"

#include <catch2/catch.hpp>

#include "sim/predict.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

// 500 MB through NICs of 50 GB/s: 10 ms.
Schedule one_transfer() {
  PlanWriter writer(2);
  writer.parcel({Rank{0}}, {Rank{1}}, 500'000'000);
  writer.transfer(0, 1, 500e6);
  return writer.schedule();
}

}  // namespace

TEST_CASE("ensemble: rates within 1 % give times within 1 %, and not all the same",
          "[sim][ensemble]") {
  const Ensemble ensemble = jittered_ensemble(one_transfer(), lone_gpus(2));
  CHECK(ensemble.least_s >= 0.01 / 1.01);
  CHECK(ensemble.most_s <= 0.01 / 0.99);
  CHECK(ensemble.least_s < ensemble.median_s);
  CHECK(ensemble.median_s < ensemble.most_s);
  CHECK(ensemble.spread_s() == ensemble.most_s - ensemble.least_s);
}

TEST_CASE("ensemble: equal questions give equal times", "[sim][ensemble]") {
  const Ensemble a = jittered_ensemble(one_transfer(), lone_gpus(2));
  const Ensemble b = jittered_ensemble(one_transfer(), lone_gpus(2));
  CHECK(a.least_s == b.least_s);
  CHECK(a.median_s == b.median_s);
  CHECK(a.most_s == b.most_s);
}

TEST_CASE("ensemble: both solvers know the same links", "[sim][ensemble]") {
  const Ensemble ours =
      jittered_ensemble(one_transfer(), lone_gpus(2), {wire_only(), Solver::incremental});
  const Ensemble native =
      jittered_ensemble(one_transfer(), lone_gpus(2), {wire_only(), Solver::native});
  CHECK(ours.least_s == Approx(native.least_s));
  CHECK(ours.most_s == Approx(native.most_s));
}

TEST_CASE("ensemble: what does not hang on links does not vary", "[sim][ensemble]") {
  PlanWriter writer(1);
  writer.compute(Work::fixed, writer.group(ranks(0, 1)), 1, 0);
  PredictOptions options;
  options.network_model.fixed_s = 0.15;
  const Ensemble ensemble = jittered_ensemble(writer.schedule(), lone_gpus(1), options);
  CHECK(ensemble.median_s == Approx(0.15));
  CHECK(ensemble.spread_s() == 0);
}

TEST_CASE("ensemble: sizes and starts differ by no more than was asked", "[sim][ensemble]") {
  // 10 ms, 0.1 % more or less, and up to 10 us late.
  const Ensemble ensemble =
      jittered_ensemble(one_transfer(), lone_gpus(2), {}, kUnequalRuns, 20, 2);
  CHECK(ensemble.least_s >= 0.01 * 0.999);
  CHECK(ensemble.most_s <= 0.01 * 1.001 + 10e-6);
  CHECK(ensemble.spread_s() > 5e-6);
  CHECK(ensemble.mean_s > ensemble.least_s);
  CHECK(ensemble.mean_s < ensemble.most_s);
}

TEST_CASE("ensemble: members are the same whoever simulates them", "[sim][ensemble]") {
  const Ensemble one = jittered_ensemble(one_transfer(), lone_gpus(2), {}, kUnequalRuns, 7, 1);
  const Ensemble four = jittered_ensemble(one_transfer(), lone_gpus(2), {}, kUnequalRuns, 7, 4);
  CHECK(one.mean_s == four.mean_s);
  CHECK(one.median_s == four.median_s);
}

TEST_CASE("ensemble: one member is its own mean", "[sim][ensemble]") {
  const Ensemble ensemble = jittered_ensemble(one_transfer(), lone_gpus(2), {}, kUnequalRuns, 1);
  CHECK(ensemble.spread_s() == 0);
  CHECK(ensemble.mean_s == ensemble.median_s);
}

TEST_CASE("ensemble: the plan's own caps hold", "[sim][ensemble]") {
  // A tenth of the NICs: ten times as long.
  Schedule schedule = one_transfer();
  schedule.caps.nic_bytes_per_s = 5e9;
  const Ensemble ensemble = jittered_ensemble(schedule, lone_gpus(2));
  CHECK(ensemble.median_s == Approx(0.1).epsilon(0.01));
}
