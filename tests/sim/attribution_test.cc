#include <cmath>

#include <catch2/catch.hpp>

#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "sim/attribution.h"
#include "sim/network_parameters.h"
#include "sim/predict.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

Attribution where(const Schedule& schedule, const Cluster& cluster, const NetworkModel& model) {
  return predict(schedule, cluster, {model, {}, {}, true}).attribution.value();
}

double seconds(const Attribution& attribution, const char* key) {
  return attribution.parameter_s[network_parameter(key)];
}

}  // namespace

TEST_CASE("attribution: each second is on the account of what was waited for",
          "[sim][attribution]") {
  // 1 s of start, then 50 GB over NICs of 50 GB/s at half their rate, 2 s, while others load for
  // 0.5 s: they are not waited for. Then the receiver loads 3 tensors of 0.1 s.
  NetworkModel model = wire_only();
  model.fixed_s = 1;
  model.nic_efficiency = 0.5;
  model.load_tensor_s = 0.1;
  PlanWriter plan(16);
  plan.compute(Work::fixed, plan.group(ranks(0, 16)), 1, 0);
  plan.barrier(plan.group(ranks(0, 16)));
  plan.transfer(0, 8, 50e9, {.round = 1});
  plan.compute(Work::load, plan.group({Rank{3}}), 5, 0, {.round = 1});
  plan.compute(Work::load, plan.group({Rank{8}}), 3, 0, {.round = 2});
  const Attribution a = where(plan.schedule(), make_cluster({}), model);
  REQUIRE(a.total_s == Approx(3.3));
  REQUIRE(seconds(a, "fixed") == Approx(1));
  REQUIRE(seconds(a, "nic_efficiency") == Approx(2));
  REQUIRE(seconds(a, "load_tensor") == Approx(0.3));
  REQUIRE(a.latency_s == 0);
  // A share and a rate make it faster, a cost per piece slower.
  REQUIRE(a.elasticity(network_parameter("nic_efficiency")) == Approx(-2 / 3.3));
  REQUIRE(a.elasticity(network_parameter("fixed")) == Approx(1 / 3.3));
}

TEST_CASE("attribution: seconds add up, and tell how a prediction moves with each constant",
          "[sim][attribution]") {
  const Scenario s = load_scenario(REFIT_SOURCE_DIR "/scenarios/published/qwen3_235b_h100.yaml");
  const NetworkModel model = catalog_network_model("default");
  for (const char* name : {"nemo_rl_packed", "nemo_rl_reshard", "nemo_rl_golden", "direct"}) {
    CAPTURE(name);
    const Schedule schedule = plan(s.refit, s.cluster, named_policy(name), s.plan);
    const Attribution a = where(schedule, s.cluster, model);
    double sum = a.latency_s;
    for (const double part : a.parameter_s) sum += part;
    REQUIRE(sum == Approx(a.total_s).epsilon(1e-9));
    for (std::size_t p = 0; p < network_parameters().size(); ++p) {
      CAPTURE(network_parameters()[p].key);
      NetworkModel more = model;
      more.*network_parameters()[p].value *= 1.01;
      const double moved =
          std::log(predict(schedule, s.cluster, {more, {}, {}}).makespan_s / a.total_s) /
          std::log(1.01);
      // Wires that share and lanes that overlap let the other link, or another lane, have a part.
      REQUIRE(moved == Approx(a.elasticity(p)).margin(0.12));
    }
  }
}

TEST_CASE("attribution: a stream of whole tensors is as fast as its rails", "[sim][attribution]") {
  // Eight trainers' NICs of 10 GB/s each: 16 GB in 0.2 s, where NVLink and NICs would take less.
  NetworkModel model = wire_only();
  model.stream_bytes_per_s = 10e9;
  PlanWriter plan(16);
  plan.broadcast(0, plan.group(ranks(0, 16)), 16e9, {});
  Schedule schedule = plan.schedule();
  REQUIRE(where(schedule, make_cluster({}), model).total_s < 0.1);
  schedule.ops.front().work = Work::stream;
  const Attribution a = where(schedule, make_cluster({}), model);
  REQUIRE(a.total_s == Approx(0.2));
  REQUIRE(seconds(a, "stream_rate") == Approx(0.2));
}

TEST_CASE("attribution: a band is as wide as what it rests on is unsure", "[sim][attribution]") {
  // Half of the time is a constant known to a factor e^0.2, the rest is sure: sigma of ln is
  // sqrt((0.5 x 0.2)^2 + 0.1^2) = 0.1414, and 80 % lie within e^(1.2816 x 0.1414) = 1.199.
  Attribution a;
  a.parameter_s.assign(network_parameters().size(), 0);
  a.parameter_s[network_parameter("fixed")] = 1;
  a.total_s = 2;
  const Band band = band_of(a, {{network_parameter("fixed")}, {0.04}, 0.1});
  REQUIRE(band.high_s == Approx(2 * 1.199).epsilon(1e-3));
  REQUIRE(band.low_s == Approx(2 / 1.199).epsilon(1e-3));
}

TEST_CASE("attribution: a barrier takes the log of its ranks, and has its own account",
          "[sim][attribution]") {
  NetworkModel model = wire_only();
  model.barrier_s = 1e-3;
  model.load_tensor_s = 0.5;
  PlanWriter plan(8);
  plan.compute(Work::load, plan.group(ranks(0, 8)), 1, 0);
  plan.barrier(plan.group(ranks(0, 8)));
  plan.compute(Work::load, plan.group(ranks(0, 8)), 1, 0, {.round = 1});
  plan.barrier(plan.group(ranks(0, 1)));  // alone: nothing to wait for
  const Attribution all = where(plan.schedule(), lone_gpus(8), model);
  REQUIRE(all.total_s == Approx(0.5 + 3e-3 + 0.5));
  REQUIRE(seconds(all, "barrier") == Approx(3e-3));
}
