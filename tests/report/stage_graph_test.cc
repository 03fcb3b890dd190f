#include "report/stage_graph.h"

#include <string>

#include <catch2/catch.hpp>

#include "report/step_boxes.h"
#include "tests/report/read_graph.h"

namespace refit {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Rank 0 sends parcel 0 (stage 0), then parcel 1 (stage 1) to rank 1, which relays the first to
// rank 2 on another lane; rank 2 loads at the end.
Schedule relay() {
  Schedule schedule;
  schedule.strategy = "relay";
  schedule.ranks = 3;
  schedule.lanes = 2;
  schedule.phases = {{"move", 0}, {"land", 0}};
  schedule.parcels.resize(2);
  schedule.parcels[1].stage = 1;
  schedule.cargos = {{{ParcelId{0}}}, {{ParcelId{1}}}};
  schedule.groups = {{{Rank{2}}, 1}};
  const auto transfer = [](int src, int dst, int cargo, int lane, int round) {
    Op op;
    op.src = Rank{src};
    op.dst = Rank{dst};
    op.cargo = CargoId{cargo};
    op.lane = static_cast<std::uint8_t>(lane);
    op.round = round;
    op.bytes = 1'000'000;
    return op;
  };
  Op load;
  load.kind = OpKind::compute;
  load.work = Work::load;
  load.phase = 1;
  load.lane = 1;
  load.round = 1;
  schedule.ops = {transfer(0, 1, 0, 0, 0), transfer(0, 1, 1, 0, 1), transfer(1, 2, 0, 1, 0), load};
  schedule.after = {OpId{0}, OpId{2}};
  schedule.ops[2].after_end = 1;
  schedule.ops[3].after_begin = 1;
  schedule.ops[3].after_end = 2;
  return schedule;
}

Prediction prediction() {
  Prediction prediction;
  prediction.network_model = "default";
  prediction.timeline = {{0, 1}, {1, 2}, {1, 3}, {3, 4}};
  prediction.makespan_s = 4;
  return prediction;
}

TEST_CASE("ops that do the same are one box, with when it runs", "[report][graph]") {
  const StepBoxes steps = step_boxes(relay(), prediction().timeline, {true, true});
  // move: stage 0 on lane 0, on lane 1, stage 1 on lane 0; land.
  REQUIRE(steps.boxes.size() == 4);
  CHECK(steps.boxes[0].stage == 0);
  CHECK(steps.boxes[1].lane == 1);
  CHECK(steps.boxes[1].span == Span{1, 3});
  CHECK(steps.boxes[2].stage == 1);
  CHECK(steps.boxes[3].work == Work::load);
  REQUIRE(steps.edges.size() == 3);
  CHECK(steps.edges.at({0, 1}).after == 1);
  // The second transfer waits for no op, but both ranks are busy on lane 0 before.
  CHECK(steps.edges.at({0, 2}).after == 0);
  CHECK(steps.edges.at({0, 2}).lane == 1);
  CHECK(steps.edges.at({1, 3}).after == 1);
}

TEST_CASE("without stages and lanes a relay waits inside its box", "[report][graph]") {
  Prediction late = prediction();
  late.timeline[2] = {5, 6};
  const StepBoxes steps = step_boxes(relay(), late.timeline, {false, false});
  REQUIRE(steps.boxes.size() == 2);
  CHECK(steps.boxes[0].ops == 3);
  CHECK(steps.boxes[0].waits_inside == 1);
  CHECK(steps.boxes[0].bytes == 3e6);
  CHECK(steps.boxes[0].span == Span{0, 6});
  CHECK(steps.boxes[0].busy_s == Approx(3));  // 0 to 2 and 5 to 6
  CHECK(steps.edges.size() == 1);
}

TEST_CASE("what is in one round waits for the round before, not for itself", "[report][graph]") {
  Schedule schedule = relay();
  schedule.ops[1].round = 0;
  const StepBoxes steps = step_boxes(schedule, prediction().timeline, {true, true});
  CHECK(steps.edges.size() == 2);
  // A lane with a window has no rounds.
  schedule.ops[1].round = 1;
  schedule.windows = {{{1, 1, 1}, {1, 1, 1}}, {}};
  CHECK(step_boxes(schedule, prediction().timeline, {true, true}).edges.size() == 2);
}

TEST_CASE("a barrier is after all lanes, and before what its round has besides",
          "[report][graph]") {
  Schedule schedule = relay();
  schedule.ops[2].after_end = 0;
  schedule.ops[3].after_end = 1;
  Op barrier;
  barrier.kind = OpKind::barrier;
  barrier.group = GroupId{1};
  schedule.groups.push_back({{Rank{0}, Rank{1}, Rank{2}}, 3});
  schedule.ops.insert(schedule.ops.begin() + 1, barrier);
  Prediction times = prediction();
  times.timeline.insert(times.timeline.begin() + 1, Span{1, 1});
  StepBoxes steps = step_boxes(schedule, times.timeline, {true, true});
  // The barrier, then as before.
  REQUIRE(steps.boxes.size() == 5);
  CHECK(steps.boxes[0].kind == OpKind::barrier);
  CHECK(steps.edges.at({1, 0}).lane == 1);
  CHECK(steps.edges.contains({0, 2}));  // on lane 1, where nothing was
  CHECK(steps.edges.contains({0, 3}));
  CHECK_FALSE(steps.edges.contains({1, 3}));
}

TEST_CASE("what several arrows say is not said again by the order of lanes", "[report][graph]") {
  StepBoxes steps;
  steps.boxes.resize(3);
  steps.edges[{0, 1}].after = 1;
  steps.edges[{0, 2}].lane = 1;
  steps.edges[{1, 2}].lane = 1;
  drop_implied(steps);
  CHECK(steps.edges.size() == 2);
  CHECK_FALSE(steps.edges.contains({0, 2}));
  // Back in time is no way to say it.
  steps.edges[{0, 2}].lane = 1;
  steps.boxes[1].span.start_s = 3;
  drop_implied(steps);
  CHECK(steps.edges.size() == 3);
  // A dependency of ops stays, whatever else says it.
  steps.boxes[1].span.start_s = 0;
  steps.edges[{0, 2}].after = 1;
  drop_implied(steps);
  CHECK(steps.edges.size() == 3);
}

TEST_CASE("the graph names phase, work, bytes and seconds", "[report][graph]") {
  const ReadGraph graph(stage_graph(relay(), prediction()));
  CHECK(has(graph.title(),
            "What waits for what: relay\\lPredicted 4.00 s with network model default"));
  CHECK_FALSE(has(graph.title(), "Drawn as one"));
  CHECK(graph.nodes() == 4);
  CHECK(graph.edges() == 3);
  const std::string label = attribute(graph.node("step 1"), "label");
  CHECK(has(label, "<B>move: transfer</B>"));
  CHECK(has(label, "stage 0, lane 1"));
  CHECK(has(label, "1 op, 1.00 MB"));
  CHECK(has(label, "1.00 s to 3.00 s"));
  CHECK(words_at(graph.edge("step 0", "step 1")) == "1");
  CHECK(attribute(graph.edge("step 0", "step 2"), "style") == "dashed");
}

TEST_CASE("many stages are drawn as one, which is said", "[report][graph]") {
  Schedule schedule = relay();
  schedule.parcels.resize(50);
  Prediction times = prediction();
  for (int stage = 2; stage < 50; ++stage) {
    schedule.parcels[static_cast<std::size_t>(stage)].stage = stage;
    schedule.cargos.push_back({{ParcelId{stage}}});
    Op op = schedule.ops[1];
    op.cargo = CargoId{stage};
    op.round = stage;
    schedule.ops.push_back(op);
    times.timeline.push_back({2, 3});
  }
  const ReadGraph graph(stage_graph(schedule, times));
  CHECK(has(graph.title(), "Drawn as one: 50 pipeline stages of the source."));
  CHECK(graph.nodes() == 3);  // lane 0, lane 1, land
}

}  // namespace
}  // namespace refit
