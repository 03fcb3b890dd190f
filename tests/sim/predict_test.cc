#include <catch2/catch.hpp>

#include "sim/predict.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

constexpr double kExact = 1e-12;

// Both solvers answer every hand case.
Prediction simulate(const Schedule& schedule, const Cluster& cluster) {
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  CAPTURE(static_cast<int>(solver));
  return predict(schedule, cluster, {.network_model = wire_only(), .solver = solver});
}

NetworkModel with_latency() {
  NetworkModel model = wire_only();
  model.latencies = true;
  return model;
}

}  // namespace

TEST_CASE("predict: one flow takes bytes over line rate, without any correction of SimGrid's",
          "[sim]") {
  // Default settings of SimGrid would give 0.825 to 0.866 s.
  PlanWriter plan(2);
  plan.transfer(0, 1, 40e9);
  const Prediction p = simulate(plan.schedule(), lone_gpus(2));
  REQUIRE(p.makespan_s == Approx(0.8).epsilon(kExact));  // 40 GB / 50 GB/s
  REQUIRE(p.timeline[0].start_s == 0);
  REQUIRE(p.busiest.name == "node 0 nic 0 out");
  REQUIRE(p.busiest.utilisation == Approx(1).epsilon(kExact));
}

TEST_CASE("predict: both directions of a port do not disturb each other", "[sim]") {
  PlanWriter plan(2);
  plan.transfer(0, 1, 40e9);
  plan.transfer(1, 0, 40e9);
  REQUIRE(simulate(plan.schedule(), lone_gpus(2)).makespan_s == Approx(0.8).epsilon(kExact));
}

TEST_CASE("predict: two flows on one NIC halve it", "[sim]") {
  PlanWriter plan(3);
  plan.transfer(0, 1, 10e9);
  plan.transfer(0, 2, 20e9);
  const Prediction p = simulate(plan.schedule(), lone_gpus(3));
  REQUIRE(p.timeline[0].end_s == Approx(0.4).epsilon(kExact));  // 10 / 25
  REQUIRE(p.timeline[1].end_s == Approx(0.6).epsilon(kExact));  // + the last 10 GB at 50 GB/s
}

TEST_CASE("predict: four GPUs share one NIC", "[sim]") {
  // GPUs 0-3 of node 0 have one NIC of 50 GB/s and send 10, 20, 30, 40 GB to node 1:
  //   10 GB each at 12.5 -> 0.8; 10 more at 16.67 -> 1.4; 10 more at 25 -> 1.8; 10 more at 50
  //   -> 2.0
  const Cluster cluster =
      make_cluster({.nodes = 2, .gpus_per_node = 4, .nvlink_domain_gpus = 4, .nics_per_node = 1});
  PlanWriter plan(8);
  for (int i = 0; i < 4; ++i) plan.transfer(i, 4 + i, (i + 1) * 10e9);
  const Prediction p = simulate(plan.schedule(), cluster);
  const double ends[] = {0.8, 1.4, 1.8, 2.0};
  for (std::size_t i = 0; i < 4; ++i)
    REQUIRE(p.timeline[i].end_s == Approx(ends[i]).epsilon(kExact));
  REQUIRE(p.link_bytes[cluster.nic_out(Rank{3}).index()] == 100e9);
}

TEST_CASE("predict: an incast shares the receiver's port", "[sim]") {
  PlanWriter plan(9);
  for (int i = 0; i < 8; ++i) plan.transfer(i, 8, 5e9);
  // 8 * 5 GB / 50 GB/s
  REQUIRE(simulate(plan.schedule(), lone_gpus(9)).makespan_s == Approx(0.8).epsilon(kExact));
}

TEST_CASE("predict: a flow held back elsewhere leaves its share to others", "[sim]") {
  // A 0->4, B 0->5, C 1->4, D 2->4, 50 GB each. Rank 4's port gives A, C, D 16.67 GB/s; rank 0's
  // port has 33.33 GB/s left for B. So B ends at 1.5 s and the others at 3 s.
  PlanWriter plan(6);
  plan.transfer(0, 4, 50e9);
  plan.transfer(0, 5, 50e9);
  plan.transfer(1, 4, 50e9);
  plan.transfer(2, 4, 50e9);
  const Prediction p = simulate(plan.schedule(), lone_gpus(6));
  const double ends[] = {3.0, 1.5, 3.0, 3.0};
  for (std::size_t i = 0; i < 4; ++i)
    REQUIRE(p.timeline[i].end_s == Approx(ends[i]).epsilon(kExact));
}

TEST_CASE("predict: different latencies on one port do not change the shares", "[sim]") {
  // 25 GB each from rank 0, which reaches rank 1 by its NIC alone and rank 2 through a trunk that
  // adds 4 us. Both get 25 GB/s, except that only the first runs from 1 to 5 us:
  //   it has 25e9 - 4e-6 * 50e9 left at 5 us, and ends 1 s - 8 us later, at 0.999997 s;
  //   the second has then 4e-6 * 50e9 left, which takes 4 us at 50 GB/s: 1.000001 s
  ClusterShape shape{.nodes = 4,
                     .gpus_per_node = 1,
                     .nvlink_domain_gpus = 1,
                     .nics_per_node = 1,
                     .nic_latency_s = 1e-6};
  shape.fabric.nodes_per_leaf = 2;
  shape.fabric.latency_s = 4e-6;
  const Cluster cluster = make_cluster(shape);
  PlanWriter plan(4);
  plan.transfer(0, 1, 25e9);
  plan.transfer(0, 2, 25e9);
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  const Prediction p = predict(plan.schedule(), cluster, {with_latency(), solver});
  REQUIRE(p.timeline[0].end_s == Approx(0.999997).epsilon(kExact));
  REQUIRE(p.timeline[1].end_s == Approx(1.000001).epsilon(kExact));
}

TEST_CASE("predict: a device copy takes no time and no link", "[sim]") {
  PlanWriter plan(2);
  plan.transfer(1, 1, 40e9);
  const Prediction p = simulate(plan.schedule(), lone_gpus(2));
  REQUIRE(p.makespan_s == 0);
  for (const double bytes : p.link_bytes) REQUIRE(bytes == 0);
}

TEST_CASE("predict: efficiencies slow the links of their kind", "[sim]") {
  NetworkModel model = wire_only();
  model.nic_efficiency = 0.5;
  model.nvlink_efficiency = 0.25;
  PlanWriter plan(16, 2);
  plan.transfer(0, 8, 50e9);
  plan.transfer(1, 2, 450e9);
  const Prediction p = predict(plan.schedule(), make_cluster({}), {model, std::nullopt});
  REQUIRE(p.timeline[0].end_s == Approx(2).epsilon(kExact));       // 50 / (50 * 0.5)
  REQUIRE(p.timeline[1].end_s == Approx(4).epsilon(kExact));       // 450 / (450 * 0.25)
  REQUIRE(p.busiest.utilisation == Approx(0.25).epsilon(kExact));  // of line rate
}

TEST_CASE("predict: each kind of work has its price", "[sim]") {
  NetworkModel model = wire_only();
  model.fixed_s = 0.15;
  model.call_s = 1e-3;
  model.export_tensor_s = 2e-3;
  model.load_tensor_s = 3e-3;
  model.stack_call_s = 4e-3;
  model.pack_bytes_per_s = 100e9;
  model.land_bytes_per_s = 200e9;
  model.convert_bytes_per_s = 250e9;
  const auto seconds = [&](Work work, int ranks_in_group, int count, double bytes) {
    PlanWriter plan(8);
    plan.compute(work, plan.group(ranks(0, ranks_in_group)), count, bytes);
    const auto solver = GENERATE(Solver::native, Solver::incremental);
    return predict(plan.schedule(), lone_gpus(8), {model, solver}).makespan_s;
  };
  REQUIRE(seconds(Work::fixed, 8, 5, 1e9) == Approx(0.15));
  REQUIRE(seconds(Work::call, 8, 10, 1e9) == Approx(10 * 1e-3 * 3));  // log2(8)
  REQUIRE(seconds(Work::call, 1, 10, 1e9) == Approx(10 * 1e-3 * 1));  // never less than two ranks
  REQUIRE(seconds(Work::export_tensors, 8, 7, 1e9) == Approx(14e-3));
  REQUIRE(seconds(Work::load, 8, 7, 1e9) == Approx(21e-3));
  REQUIRE(seconds(Work::stack, 8, 7, 1e9) == Approx(28e-3));
  REQUIRE(seconds(Work::pack, 8, 7, 1e9) == Approx(10e-3));
  model.pack_run_bytes = 50;  // 7 million runs are 350 MB more
  REQUIRE(seconds(Work::pack, 8, 7'000'000, 1e9) == Approx(13.5e-3));
  model.pause_s = 2;
  model.resume_s = 0.5;
  model.describe_tensor_s = 1e-5;
  REQUIRE(seconds(Work::pause, 8, 1, 0) == Approx(2));
  REQUIRE(seconds(Work::resume, 8, 1, 0) == Approx(0.5));
  REQUIRE(seconds(Work::describe, 8, 300, 0) == Approx(3e-3));
  REQUIRE(seconds(Work::land, 8, 7, 1e9) == Approx(5e-3));
  model.land_run_bytes = 100;  // 7 million runs are 700 MB more
  REQUIRE(seconds(Work::land, 8, 7'000'000, 1e9) == Approx(8.5e-3));
  REQUIRE(seconds(Work::convert, 8, 7, 1e9) == Approx(4e-3));
  REQUIRE(seconds(Work::none, 8, 7, 1e9) == 0);
}

TEST_CASE("predict: phases span their ops, and their work counts once", "[sim]") {
  // 1 s of work on ranks 0 and 1, overlapped by 0.5 s of work on rank 2; then 50 GB to rank 3.
  NetworkModel model = wire_only();
  model.load_tensor_s = 0.5;
  PlanWriter plan(4);
  plan.phases({{"work", 0}, {"wire", 50'000'000'000}, {"idle", 0}});
  const OpId longer = plan.compute(Work::load, plan.group(ranks(0, 2)), 2, 0);
  plan.compute(Work::load, plan.group(ranks(2, 3)), 1, 0);
  plan.transfer(0, 3, 50e9, {.round = 1, .after = {longer}, .phase = 1});
  const Prediction p = predict(plan.schedule(), lone_gpus(4), {model, std::nullopt});
  REQUIRE(p.phases.size() == 3);
  REQUIRE(p.phases[0].work_s == Approx(1));
  REQUIRE(p.phases[0].end_s == Approx(1));
  REQUIRE(p.phases[1].start_s == Approx(1));
  REQUIRE(p.phases[1].end_s == Approx(2));
  REQUIRE(p.phases[1].work_s == 0);
  REQUIRE(p.phases[2].end_s == 0);
}

TEST_CASE("predict: an empty schedule takes no time", "[sim]") {
  REQUIRE(simulate(PlanWriter(2).schedule(), lone_gpus(2)).makespan_s == 0);
}

TEST_CASE("predict: link bytes are what the routes carry", "[sim]") {
  ClusterShape shape{.nodes = 4, .gpus_per_node = 2, .nvlink_domain_gpus = 2, .nics_per_node = 1};
  shape.fabric.nodes_per_leaf = 2;
  shape.fabric.oversubscription = 2;
  const Cluster cluster = make_cluster(shape);
  PlanWriter plan(8);
  plan.transfer(0, 1, 1e9);  // NVLink
  plan.transfer(0, 2, 2e9);  // under one leaf
  plan.transfer(1, 6, 4e9);  // to the other leaf
  const Prediction p = simulate(plan.schedule(), cluster);
  const auto bytes = [&](std::optional<LinkId> link) { return p.link_bytes[link.value().index()]; };
  REQUIRE(bytes(cluster.nvlink_out(Rank{0})) == 1e9);
  REQUIRE(bytes(cluster.nvlink_in(Rank{1})) == 1e9);
  REQUIRE(bytes(cluster.nic_out(Rank{0})) == 6e9);
  REQUIRE(bytes(cluster.nic_in(Rank{2})) == 2e9);
  REQUIRE(bytes(cluster.nic_in(Rank{6})) == 4e9);
  REQUIRE(bytes(cluster.leaf_up(Rank{0})) == 4e9);
  REQUIRE(bytes(cluster.leaf_down(Rank{6})) == 4e9);
  double sum = 0;
  for (const double one : p.link_bytes) sum += one;
  REQUIRE(sum == 2 * 1e9 + 2 * 2e9 + 4 * 4e9);  // bytes times links crossed, and nothing else
}

TEST_CASE("predict: a schedule for more ranks than GPUs is refused", "[sim]") {
  PlanWriter plan(3);
  REQUIRE_THROWS_WITH(predict(plan.schedule(), lone_gpus(2)),
                      "schedule: 3 ranks do not fit on the cluster's 2 GPUs");
}
