#include "report/comparison.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "report/op_times.h"
#include "tests/report/run_sample.h"
#include "tests/report/sample.h"

namespace refit {
namespace {

Op transfer(std::int64_t src, std::int64_t dst, int lane, int round, std::int64_t bytes) {
  Op op;
  op.lane = static_cast<std::uint8_t>(lane);
  op.round = round;
  op.src = Rank{src};
  op.dst = Rank{dst};
  op.bytes = bytes;
  return op;
}

// Nodes of two GPUs: rank 0 sends to 2 by NIC, twice, and 2 hands the first on to 3 by NVLink.
Schedule relay() {
  Schedule schedule;
  schedule.strategy = "reshard";
  schedule.ranks = 4;
  schedule.lanes = 2;
  schedule.phases = {{"reshard", 300}};
  schedule.ops = {transfer(0, 2, 0, 0, 100), transfer(2, 3, 1, 0, 100), transfer(0, 2, 0, 1, 200)};
  schedule.after = {OpId{0}};
  schedule.ops[1].after_end = 1;
  schedule.ops[2].after_begin = schedule.ops[2].after_end = 1;
  return schedule;
}

// All ranks come to all ops at once; the bytes flow at 0 to 2, 2 to 3 and 2 to 6 s.
RunReport relay_run() {
  RunReport run = sample_run();
  run.measurement.ranks = 4;
  run.measurement.iterations = {{6, Rank{3}, 0}};
  run.measurement.timeline = {{0, 2}, {0.1, 3}, {0.2, 6}};
  return run;
}

Prediction relay_prediction() {
  Prediction prediction;
  prediction.timeline = {{0, 1}, {1, 1.5}, {1, 3}};
  prediction.makespan_s = 3;
  return prediction;
}

std::string refusal(const Schedule& schedule, const RunReport& run) {
  try {
    require_same_plan(schedule, "sample", "plan.json", run, "run.json");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("an op's time begins when what it waits for has ended", "[report][comparison]") {
  const Timeline flow = flow_times(relay(), relay_run().measurement.timeline);
  CHECK(flow[0] == Span{0, 2});
  CHECK(flow[1] == Span{2, 3});  // after op 0
  CHECK(flow[2] == Span{2, 6});  // after the round before it on the same lane
  // A simulated op starts when it can: nothing changes.
  CHECK(flow_times(relay(), relay_prediction().timeline) == relay_prediction().timeline);
}

TEST_CASE("after a barrier a round of the same number is a later one", "[report][comparison]") {
  Schedule schedule = relay();
  Op barrier;
  barrier.kind = OpKind::barrier;
  schedule.groups = {{{Rank{0}, Rank{2}}, 2}};
  schedule.ops = {transfer(0, 2, 0, 0, 1), barrier, transfer(0, 2, 0, 0, 1),
                  transfer(1, 3, 0, 0, 1)};
  const Timeline flow = flow_times(schedule, {{0, 2}, {0, 9}, {0.1, 5}, {0.1, 5}});
  CHECK(flow[2] == Span{2, 5});
  CHECK(flow[3] == Span{0.1, 5});  // of other ranks
}

TEST_CASE("busy times are joined per phase and kind of link", "[report][comparison]") {
  const Comparison result =
      compare(relay(), Cluster(two_gpu_nodes(2)), relay_prediction(), relay_run());
  REQUIRE(result.rows.size() == 2);
  CHECK(result.rows[0].kind == RouteKind::nvlink);
  CHECK(result.rows[0].ops == 1);
  CHECK(result.rows[0].bytes == 100);
  CHECK(result.rows[0].predicted_s == Approx(0.5));  // 1 to 1.5
  CHECK(result.rows[0].measured_s == Approx(1));     // 2 to 3
  CHECK(result.rows[1].kind == RouteKind::network);
  CHECK(result.rows[1].ops == 2);
  CHECK(result.rows[1].bytes == 300);
  CHECK(result.rows[1].predicted_s == Approx(3));  // 0 to 1 and 1 to 3
  CHECK(result.rows[1].measured_s == Approx(6));
  CHECK(comparison_table(result).csv() ==
        "phase,link,ops,content_bytes,predicted_s,measured_s,ratio\n" + result.rows[0].phase +
            ",nvlink,1,100,0.5,1,2\n" + result.rows[1].phase + ",network,2,300,3,6,2\n");
}

TEST_CASE("the largest disagreements are those of duration, largest first",
          "[report][comparison]") {
  const Comparison result =
      compare(relay(), Cluster(two_gpu_nodes(2)), relay_prediction(), relay_run());
  REQUIRE(result.largest.size() == 3);
  CHECK(result.largest[0].op == OpId{2});  // 4 s, not 2
  CHECK(result.largest[1].op == OpId{0});  // 2 s, not 1
  CHECK(result.largest[2].op == OpId{1});  // 1 s, not 0.5
  CHECK(result.largest[0].words == "transfer 0 -> 2");
  CHECK(result.largest[0].measured == Span{2, 6});
  const std::string text = comparison_text(result);
  CHECK(text.find("measurement / prediction 2.000\n") != std::string::npos);  // 6 / 3
}

TEST_CASE("a measurement of another plan is refused", "[report][comparison]") {
  CHECK(refusal(relay(), relay_run()).empty());
  RunReport run = relay_run();
  run.strategy = "direct";
  CHECK(refusal(relay(), run) ==
        "run.json is not a run of plan.json: strategy direct, where the plan has reshard; compare "
        "a plan with its own run");
  run = relay_run();
  run.measurement.timeline.pop_back();
  CHECK(refusal(relay(), run).find("ops 2, where the plan has 3") != std::string::npos);
  run = relay_run();
  run.measurement.ranks = 5;
  CHECK(refusal(relay(), run).find("ranks 5, where the plan has 4") != std::string::npos);
  run = relay_run();
  run.scenario = "other";
  CHECK(refusal(relay(), run).find("scenario other, where the plan has sample") !=
        std::string::npos);
}

}  // namespace refit
