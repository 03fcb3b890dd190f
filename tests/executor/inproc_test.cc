#include <catch2/catch.hpp>

#include "executor/execute.h"
#include "schedule/verify.h"
#include "tests/support/m2n_case.h"
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

}  // namespace refit::test
