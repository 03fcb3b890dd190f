#include <utility>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "executor/execute.h"
#include "schedule/verify.h"
#include "tests/executor/circle.h"
#include "tests/support/m2n_case.h"
#include "tests/support/random_refit.h"
#include "tests/support/short_dims.h"
#include "tests/support/small_refits.h"

namespace refit::test {
namespace {

std::int64_t wrong_bytes(const Refit& refit, const Cluster& cluster, const char* strategy,
                         PlanOptions options) {
  const Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
  REQUIRE(verify(schedule, refit).empty());
  ExecuteOptions run;
  run.iterations = 2;
  run.warmup = 0;
  run.moves.piece_bytes = 16;
  return execute_inproc(schedule, refit, cluster, run).wrong_bytes;
}

}  // namespace

TEST_CASE("inproc: every strategy leaves every destination byte right", "[executor]") {
  const M2nCase c{{2, 4, 0}, {4, 2, 1}, {24, 40}, Dtype::bf16, 4};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
    CAPTURE(strategy);
    PlanOptions options;
    options.chunks = 3;
    options.bucket_bytes = 500;
    options.buffers = GENERATE(1, 2);
    REQUIRE(wrong_bytes(refit, cluster, strategy, options) == 0);
  }
}

TEST_CASE("inproc: optimal plans on random clusters leave every byte right", "[executor]") {
  int runs = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    RandomRefit random = random_refit(seed);
    if (random.refit.ranks > 96) continue;
    ++runs;
    CAPTURE(seed, random.words);
    const Refit refit = with_short_dims(std::move(random.refit));
    REQUIRE(wrong_bytes(refit, random.cluster, "optimal", {}) == 0);
  }
  CHECK(runs >= 25);
}

TEST_CASE("inproc: ops that wait for each other end the run, which says so", "[executor]") {
  // It would wait for ever.
  const M2nCase c{{1, 2, 0}, {2, 1, 0}, {16, 16}, Dtype::bf16, 2};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  Schedule schedule = plan(refit, cluster, named_policy("reshard"), {});
  close_circle(schedule);
  try {
    execute_inproc(schedule, refit, cluster, {});
    FAIL("it went on");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::check_failed);
    CHECK_THAT(error.what(), Catch::EndsWith("the ops wait for each other"));
  }
}

}  // namespace refit::test
