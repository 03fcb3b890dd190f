// More ranks than the shapes of lab_run_test.cc: whole plans on 16 to 64 ranks, within 8 %.
#include <cstdio>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

#include "executor/execute_tcp.h"
#include "executor/lab_envelope.h"
#include "planner/plan.h"
#include "schedule/verify.h"
#include "sim/predict.h"
#include "tests/executor/lab_case.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

struct Outcome {
  double seconds = 0;
  std::int64_t wrong_bytes = 0;
  std::string fault;
};

Outcome run(const Schedule& schedule, const Refit& refit, const Cluster& cluster, int iterations) {
  LabOptions lab_options;
  lab_options.fair = true;  // rounds wait for their slowest transfer
  ExecuteOptions options;
  options.warmup = 0;
  options.iterations = iterations;
  options.moves.piece_bytes = 64 << 10;
  std::istringstream text(run_in_lab(cluster, lab_options, [&](Lab& lab) {
    TcpOptions tcp;
    tcp.network = &lab;
    tcp.socket_buffer_bytes = 64 << 10;
    tcp.failure.timeout_s = 30;
    tcp.failure.stall_timeout_s = 60;
    const Measurement m = execute_tcp(schedule, refit, cluster, options, tcp);
    const Moves moves = write_out(schedule, refit, cluster, options.moves);
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    return fmt::format("{} {} {}", m.median_s(), m.wrong_bytes, envelope_fault(m, moves, cores));
  }));
  Outcome outcome;
  text >> outcome.seconds >> outcome.wrong_bytes >> std::ws;
  std::getline(text, outcome.fault);
  return outcome;
}

void compare(const M2nCase& c, int nodes, const char* strategy, int iterations = 3) {
  const Refit refit = make_refit(c);
  const Cluster cluster = lab_cluster({.nodes = nodes,
                                       .gpus_per_node = 8,
                                       .nvlink_domain_gpus = 8,
                                       .nics_per_node = 8,
                                       .nic_bytes_per_s = 40 * kMbit,
                                       .nvlink_bytes_per_s = 360 * kMbit});
  const Schedule schedule = plan(refit, cluster, named_policy(strategy), {.chunks = 8});
  REQUIRE(verify(schedule, refit).empty());
  PredictOptions options;
  options.network_model.nic_efficiency = lab_goodput({});
  options.network_model.nvlink_efficiency = lab_goodput({});
  const double predicted_s = predict(schedule, cluster, options).makespan_s;
  double ratio = 0;
  std::string fault;
  for (int attempt = 0; attempt < 3 && ratio != Approx(1).margin(0.08); ++attempt) {
    const Outcome outcome = run(schedule, refit, cluster, iterations);
    REQUIRE(outcome.wrong_bytes == 0);
    ratio = outcome.seconds / predicted_s;
    fault = outcome.fault;
    std::printf("%-10s %3d ranks  predicted %.4f s  measured %.4f s  ratio %.3f  %s\n", strategy,
                schedule.ranks, predicted_s, outcome.seconds, ratio, fault.c_str());
    std::fflush(stdout);
  }
  CAPTURE(strategy, schedule.ranks, fault);
  if (!fault.empty() && ratio != Approx(1).margin(0.08)) {
    WARN("not graded: " << fault);
    return;
  }
  CHECK(ratio == Approx(1).margin(0.08));
}

}  // namespace

TEST_CASE("lab: plans on 16 to 64 ranks end when the simulator says", "[lab]") {
  if (lab_is_refused()) return;
  // 8 shards to 4 engines of 4 (and so on), 5 MB a NIC each second.
  compare({{1, 8, 0}, {2, 4, 0}, {800, 50'000}, Dtype::u8, 8}, 2, "reshard");
  compare({{1, 8, 0}, {2, 4, 0}, {800, 50'000}, Dtype::u8, 8}, 2, "optimal");
  compare({{2, 8, 0}, {2, 8, 1}, {800, 80'000}, Dtype::u8, 8}, 4, "reshard");
  // Chunks of 256 KiB at least, and 64 KiB in each socket: more bytes, or the sockets are the
  // result.
  compare({{2, 8, 0}, {2, 8, 1}, {3200, 80'000}, Dtype::u8, 8}, 4, "optimal", 1);
  compare({{2, 16, 0}, {4, 8, 0}, {1600, 80'000}, Dtype::u8, 8}, 8, "reshard");
}

}  // namespace refit::test
