// The NCCL executor as processes in the network namespaces of a lab, on stand-ins for CUDA and
// NCCL: every byte crosses shaped links. What is proved is our code; the times are those of a TCP
// connection per pair, not NCCL's.
#include <csignal>
#include <sstream>

#include "cli/run_case.h"
#include "executor/cuda/execute_cuda.h"
#include "executor/run_rank.h"
#include "tests/executor/lab_case.h"
#include "tests/fakes/fake_cuda_nccl.h"

namespace refit::test {
namespace {

// A dense model of 16 GB from TP2 to TP4, 8 ranks on one node of 8 H100: 1.6 MB are left.
RunCase small_case(const char* strategy) {
  return run_case(load_question(REFIT_SOURCE_DIR "/scenarios/small/dense_tp2_to_tp4.yaml"),
                  strategy, 1e-4);
}

CudaOptions options_in_lab() {
  CudaOptions options;
  options.run.iterations = 1;
  options.run.warmup = 1;
  options.failure.timeout_s = 10;  // a busy machine is no dead rank
  options.failure.stall_timeout_s = 30;
  return options;
}

std::string run_in_lab_over_nccl(const RunCase& c, const CudaOptions& options = options_in_lab()) {
  LabOptions lab_options;
  lab_options.prove = false;
  return run_in_lab(c.scenario.cluster, lab_options, [&](Lab& lab) {
    fake::end_with_faults();
    const Measurement m =
        execute_nccl(c.schedule, c.scenario.refit, c.scenario.cluster, std::nullopt, options, &lab);
    return fmt::format("{} {} {} {}", m.median_s(), m.wrong_bytes, m.iterations.size(),
                       m.fault ? m.fault->lost.value : -1);
  });
}

}  // namespace

TEST_CASE("nccl in the lab: every strategy leaves every destination byte right", "[lab]") {
  if (lab_is_refused()) return;
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
    CAPTURE(strategy);
    const RunCase c = small_case(strategy);
    REQUIRE(c.schedule.ranks == 8);
    std::istringstream text(run_in_lab_over_nccl(c));
    double median_s = 0;
    std::int64_t wrong_bytes = -1, iterations = 0;
    text >> median_s >> wrong_bytes >> iterations;
    REQUIRE(wrong_bytes == 0);
    REQUIRE(iterations == 1);
    // Stand-ins send over NICs only; none of the shaped 5 MB/s can be much faster than it is. The
    // busiest rank sends or receives at least a quarter of the model.
    const double least_s =
        0.25 * static_cast<double>(c.scenario.refit.unique_bytes()) /
        c.scenario.cluster.link(c.scenario.cluster.nic_out(Rank(0))).bandwidth_bytes_per_s;
    CAPTURE(median_s, least_s);
    REQUIRE(median_s > 0.5 * least_s);
  }
}

TEST_CASE("nccl in the lab: a killed rank is named by all, soon, and nothing is left",
          "[lab][fault]") {
  if (lab_is_refused()) return;
  const RunCase c = small_case("direct");
  fake::strike_rank(5, SIGKILL, 2);
  const double begin = steady_clock_s();
  REQUIRE_THROWS_WITH(run_in_lab_over_nccl(c), Catch::StartsWith("rank 5, round ") &&
                                                   Catch::EndsWith("killed by signal 9 (Killed)"));
  REQUIRE(steady_clock_s() - begin < options_in_lab().failure.timeout_s);
  fake::strike_rank(-1, 0, 0);
}

TEST_CASE(
    "nccl in the lab: when a destination dies halfway, the others go on in a smaller "
    "communicator",
    "[lab][fault]") {
  if (lab_is_refused()) return;
  const RunCase c = small_case("direct");
  CudaOptions options = options_in_lab();
  options.policy = FaultPolicy::shrink;
  options.run.warmup = 0;
  options.inject = FaultSpec{.rank = Rank(7), .at_s = 0.02};
  std::istringstream text(run_in_lab_over_nccl(c, options));
  double median_s = 0;
  std::int64_t wrong_bytes = -1;
  std::string lost;
  text >> median_s >> wrong_bytes >> lost >> lost;
  REQUIRE(wrong_bytes == 0);
  REQUIRE(lost == "7");
}

}  // namespace refit::test
