#include <cmath>

#include <catch2/catch.hpp>

#include "sim/detail/flow_run.h"
#include "sim/predict.h"
#include "tests/sim/random_plan.h"

using namespace refit;
using namespace refit::test;

namespace {

NetworkModel model_with_costs() {
  NetworkModel model = wire_only();
  model.latencies = true;
  model.load_tensor_s = 1.7e-3;
  return model;
}

// The largest difference of any start or end.
double difference(const Timeline& a, const Timeline& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i].start_s - b[i].start_s));
    largest = std::max(largest, std::abs(a[i].end_s - b[i].end_s));
  }
  return largest;
}

}  // namespace

// Run with --rng-seed N for other cases.
TEST_CASE("solvers: SimGrid's max-min and ours agree on random plans", "[sim][solver]") {
  double worst = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    const std::uint32_t seed = Catch::rngSeed() + i;
    CAPTURE(seed);
    const RandomCase random = RandomPlan(seed).make();
    const NetworkModel model = model_with_costs();
    const Prediction native = predict(random.schedule, random.cluster, {model, Solver::native});
    const Prediction ours = predict(random.schedule, random.cluster, {model, Solver::incremental});
    REQUIRE(native.solver == "native");
    REQUIRE(ours.solver == "incremental");
    const double relative = difference(native.timeline, ours.timeline) / native.makespan_s;
    REQUIRE(relative < 1e-9);
    worst = std::max(worst, relative);
  }
  INFO("worst relative difference " << worst);
  REQUIRE(worst > 0);  // two solvers, not one twice
}

TEST_CASE("solvers: a flow slows down those it meets when it begins together with another",
          "[sim][solver]") {
  // SimGrid 3.32's lazy update kept C at 50 GB/s: A and B, both from rank 0, start to send at the
  // same instant, and only what A meets was computed anew. A 0->1, B 0->2, C 3->2, 50 MB each; rank
  // 0 sends with 5 us of latency, rank 3 with none.
  //   A and B share rank 0's port and send at 25 GB/s from 5 us on: both end at 5 us + 2 ms.
  //   C is alone at rank 2's port until then, and has 50e6 - 5e-6 * 50e9 = 49.75e6 left, which at
  //   25 GB/s takes 1.99 ms: it ends at 1.995 ms.
  NodeGroupSpec group = lone_gpus(3).spec().groups[0];
  group.nic_latency_s = 5e-6;
  NodeGroupSpec near = group;
  near.nodes = 1;
  near.nic_latency_s = 0;
  const Cluster cluster({{group, near}, {{}}, {"here"}, {}});
  PlanWriter plan(4);
  plan.transfer(0, 1, 50e6);
  plan.transfer(0, 2, 50e6);
  plan.transfer(3, 2, 50e6);
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  const Prediction p = predict(plan.schedule(), cluster, {model_with_costs(), solver});
  REQUIRE(p.timeline[2].end_s == Approx(1.995e-3).epsilon(1e-9));
  REQUIRE(p.timeline[0].end_s == Approx(2.005e-3).epsilon(1e-9));
  REQUIRE(p.timeline[1].end_s == Approx(2.005e-3).epsilon(1e-9));
}

TEST_CASE("solvers: rates are max-min fair after every event", "[sim][solver]") {
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t seed = Catch::rngSeed() + i;
    CAPTURE(seed);
    const RandomCase random = RandomPlan(seed).make();
    const detail::TaskGraph graph =
        detail::make_task_graph(random.schedule, random.cluster, model_with_costs());
    detail::FlowRun run(graph);
    std::vector<double> moved(graph.tasks(), 0);
    double now = 0;
    for (auto next = run.next_event_s(); next; next = run.next_event_s()) {
      std::vector<double> load(graph.paths.capacity_bytes_per_s.size(), 0);
      std::vector<double> fastest(graph.paths.capacity_bytes_per_s.size(), 0);
      for (detail::TaskId task = 0; task < graph.tasks(); ++task) {
        const double rate = run.rate(task);
        moved[task] += rate * (*next - now);
        if (rate == 0) continue;
        for (const PathLink& crossed : graph.paths.of(graph.path[task])) {
          load[crossed.link.index()] += crossed.weight * rate;
          fastest[crossed.link.index()] = std::max(fastest[crossed.link.index()], rate);
        }
      }
      bool fits = true;
      for (std::size_t l = 0; l < load.size(); ++l) {
        fits = fits && load[l] <= graph.paths.capacity_bytes_per_s[l] * (1 + 1e-9);
      }
      REQUIRE(fits);
      // Each flow has a full link on which nobody is faster.
      bool fair = true;
      for (detail::TaskId task = 0; task < graph.tasks(); ++task) {
        const double rate = run.rate(task);
        if (rate == 0) continue;
        bool bottleneck = false;
        for (const PathLink& crossed : graph.paths.of(graph.path[task])) {
          const std::size_t l = crossed.link.index();
          bottleneck = bottleneck || (load[l] >= graph.paths.capacity_bytes_per_s[l] * (1 - 1e-9) &&
                                      rate >= fastest[l] * (1 - 1e-9));
        }
        fair = fair && bottleneck;
      }
      REQUIRE(fair);
      now = *next;
      run.advance();
    }
    // Conservation: what the rates moved over time is what each op had to move.
    for (detail::TaskId task = 0; task < graph.tasks(); ++task) {
      if (graph.moves_bytes(task)) REQUIRE(moved[task] == Approx(graph.bytes[task]).epsilon(1e-6));
    }
  }
}

TEST_CASE("solvers: the same prediction twice is bit for bit the same", "[sim][solver]") {
  const RandomCase random = RandomPlan(7).make();
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  const PredictOptions options{model_with_costs(), solver};
  const Prediction a = predict(random.schedule, random.cluster, options);
  const Prediction b = predict(random.schedule, random.cluster, options);
  REQUIRE(a.timeline == b.timeline);
  REQUIRE(a.link_bytes == b.link_bytes);
  REQUIRE(a.makespan_s == b.makespan_s);
}

TEST_CASE("solvers: nothing starts before what it waits for, and rounds keep their order",
          "[sim][solver]") {
  const RandomCase random = RandomPlan(11).make();
  const Prediction p = predict(random.schedule, random.cluster, {model_with_costs(), std::nullopt});
  const auto ranks_of = [&](const Op& op) {
    if (op.kind == OpKind::transfer) return std::vector<Rank>{op.src, op.dst};
    std::vector<Rank> list = random.schedule.groups[op.group.index()].ranks;
    if (op.kind == OpKind::broadcast) list.push_back(op.src);
    return list;
  };
  for (std::size_t i = 0; i < random.schedule.ops.size(); ++i) {
    const Op& op = random.schedule.ops[i];
    double ready = 0;  // the slow, obvious rule
    for (const OpId before : random.schedule.after_of(op)) {
      ready = std::max(ready, p.timeline[before.index()].end_s);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const Op& other = random.schedule.ops[j];
      if (other.lane != op.lane || other.round >= op.round) continue;
      for (const Rank a : ranks_of(op)) {
        for (const Rank b : ranks_of(other)) {
          if (a == b) ready = std::max(ready, p.timeline[j].end_s);
        }
      }
    }
    CAPTURE(i);
    REQUIRE(p.timeline[i].start_s == ready);
  }
}
