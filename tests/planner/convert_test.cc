// Where a plan takes the steps that are no copies of bytes.
#include <catch2/catch.hpp>

#include "schedule/verify.h"
#include "sim/predict.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

// Two stages of two trainers, [8, 4] each, to two engines that each hold a half. In the first stage
// trainers halve 4-byte elements before; what has arrived of either stage is widened to 4 bytes.
Refit converted_refit() {
  Refit refit;
  refit.ranks = 6;
  refit.stages = 2;
  for (int r = 0; r < 6; ++r) (r < 4 ? refit.sources : refit.destinations).push_back(Rank(r));
  const Conversion before{ValueOp::cast, EdgeSide::source, "f32 to bf16", 4, 2};
  const Conversion after{ValueOp::cast, EdgeSide::destination, "bf16 to f32", 2, 4};
  for (int stage : {0, 1}) {
    refit.classes.push_back(
        {"w" + std::to_string(stage),
         Dtype::bf16,
         Role::attention,
         false,
         stage,
         {stage},
         Layout({1, 8, 4}, Mesh::row_major(Rank(2 * stage), {{"r", 2}}), {shard(1)}),
         Layout({1, 8, 4}, Mesh::row_major(Rank(4), {{"r", 2}}), {shard(2)}),
         1,
         "",
         {}});
    if (stage == 0) refit.classes.back().conversions.push_back(before);
    refit.classes.back().conversions.push_back(after);
  }
  return refit;
}

struct Step {
  std::size_t at = 0;  // in the plan's order, which is safe to run one by one
  std::vector<Rank> ranks;
  std::int64_t count = 0, bytes = 0;
};

std::vector<Step> converting(const Schedule& schedule) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op& op = schedule.ops[i];
    if (op.work != Work::convert) continue;
    steps.push_back({i, schedule.groups[op.group.index()].ranks, op.count, op.bytes});
  }
  return steps;
}

// First and last op that moves bytes.
std::pair<std::size_t, std::size_t> moving(const Schedule& schedule) {
  std::size_t first = schedule.ops.size(), last = 0;
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    if (!moves_bytes(schedule.ops[i])) continue;
    first = std::min(first, i);
    last = i;
  }
  return {first, last};
}

}  // namespace

TEST_CASE("convert: sources convert before they send, destinations after all has arrived",
          "[planner][convert]") {
  const Refit refit = converted_refit();
  const Cluster cluster = cluster_of_domains({4, 2});
  const char* strategy = GENERATE("reshard", "direct");
  CAPTURE(strategy);
  const Schedule schedule = plan(refit, cluster, named_policy(strategy), {.chunks = 2});
  REQUIRE(verify(schedule, refit).empty());
  const std::vector<Step> steps = converting(schedule);
  REQUIRE(steps.size() == 2);
  // 4 x 4 elements of a trainer of stage 0, 4 B read and 2 B written.
  REQUIRE(steps[0].ranks == std::vector<Rank>{Rank(0), Rank(1)});
  REQUIRE(steps[0].count == 1);
  REQUIRE(steps[0].bytes == 16 * (4 + 2));
  REQUIRE(steps[0].at < moving(schedule).first);
  // 8 x 2 elements of either class on an engine rank.
  REQUIRE(steps[1].ranks == std::vector<Rank>{Rank(4), Rank(5)});
  REQUIRE(steps[1].count == 2);
  REQUIRE(steps[1].bytes == 2 * 16 * (2 + 4));
  REQUIRE(steps[1].at > moving(schedule).second);
}

TEST_CASE("convert: a bucket is converted before it is gathered and after it is loaded",
          "[planner][convert]") {
  const Refit refit = converted_refit();
  const Cluster cluster = cluster_of_domains({4, 2});
  // 64 B a stage: two buckets each.
  const Schedule schedule =
      plan(refit, cluster, named_policy("gather_broadcast"), {.bucket_bytes = 32});
  REQUIRE(verify(schedule, refit).empty());
  std::vector<std::string> story;
  std::int64_t before = 0, after = 0;
  for (const Op& op : schedule.ops) {
    if (op.work == Work::convert) {
      const bool source = schedule.groups[op.group.index()].ranks.front() == Rank(0);
      (source ? before : after) += op.bytes;
      story.push_back(source ? "convert at sources" : "convert at engines");
    } else if (op.kind == OpKind::all_gather || op.work == Work::load) {
      story.push_back(op.work == Work::load ? "load" : "gather");
    }
  }
  const std::vector<std::string> bucket{"gather", "load", "convert at engines"};
  std::vector<std::string> expected;
  for (int b = 0; b < 4; ++b) {
    if (b < 2) expected.push_back("convert at sources");
    expected.insert(expected.end(), bucket.begin(), bucket.end());
  }
  REQUIRE(story == expected);
  REQUIRE(before == 16 * (4 + 2));
  REQUIRE(after == 2 * 16 * (2 + 4));
}

TEST_CASE("convert: a refit without conversions is planned without such steps",
          "[planner][convert]") {
  Refit refit = converted_refit();
  for (TensorClass& c : refit.classes) c.conversions.clear();
  for (const char* strategy : {"reshard", "direct", "gather_broadcast"}) {
    REQUIRE(
        converting(plan(refit, cluster_of_domains({4, 2}), named_policy(strategy), {})).empty());
  }
}

TEST_CASE("convert: bytes over the model's rate are the time of a step, and wire-only it is free",
          "[planner][convert]") {
  const Refit refit = converted_refit();
  const Cluster cluster = cluster_of_domains({4, 2});
  const Schedule schedule = plan(refit, cluster, named_policy("direct"), {});
  PredictOptions options{wire_only(), {}};
  const double free_s = predict(schedule, cluster, options).makespan_s;
  options.network_model.convert_bytes_per_s = 1000;
  // Stage 1 has nothing to convert, so it is sent meanwhile; the engines' step ends it all.
  const double seconds = 16.0 * 6 / 1000 + 2.0 * 16 * 6 / 1000;
  REQUIRE(predict(schedule, cluster, options).makespan_s == Approx(free_s + seconds).margin(1e-6));
}

}  // namespace refit::test
