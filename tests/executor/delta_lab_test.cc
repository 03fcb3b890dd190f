// The moves of a version over an emulated cluster, held against the prediction for the sizes that
// its payloads really have.
#include <catch2/catch.hpp>

#include "executor/delta/execute_delta.h"
#include "executor/delta/sized_schedule.h"
#include "executor/detail/lab_plan.h"
#include "executor/lab_envelope.h"
#include "planner/plan.h"
#include "sim/predict.h"
#include "tests/executor/delta_case.h"
#include "tests/executor/lab_case.h"

namespace refit::test {

TEST_CASE("lab: versions take the time that their payloads' sizes predict", "[executor][lab]") {
  if (lab_is_refused()) return;
  // Four trainers with a quarter of 2048 x 2048 BF16 each, two engines of two ranks in one domain.
  Refit refit = make_refit({{1, 4, 0}, {2, 2, 1}, {2048, 2048}, Dtype::bf16, 4});
  const Cluster cluster = lab_cluster({.nic_bytes_per_s = 0.5e6, .nvlink_bytes_per_s = 16e6});
  PlanOptions plan_options;
  plan_options.delta = DeltaOptions{{}, {0.2}, "as tested"};
  const Schedule schedule = plan(refit, cluster, named_policy("delta_reshard"), plan_options);
  DeltaRunOptions options;
  options.versions = 3;
  options.anchor = false;
  // A third of the weights change: payloads that are long beside what a port lets through at once.
  options.model.learning_rate = 1e-4;
  LabOptions lab_options;
  lab_options.fair = true;
  lab_options.burst_bytes = 10000;  // a packet
  lab_options.prove = false;
  const std::string said = run_in_lab(cluster, lab_options, [&](Lab& lab) {
    TcpOptions tcp;
    tcp.network = &lab;
    tcp.socket_buffer_bytes = 16 << 10;
    tcp.failure.timeout_s = 30;
    tcp.failure.stall_timeout_s = 60;
    const DeltaMeasurement done = execute_delta_tcp(schedule, refit, cluster, options, tcp);
    const DeltaGeometry geometry(refit, schedule);
    const Schedule sized = sized_schedule(schedule, geometry, done.payload_bytes);
    PredictOptions links;
    links.network_model.nic_efficiency = lab_goodput({});
    links.network_model.nvlink_efficiency = lab_goodput({});
    const double predicted_s = predict(sized, cluster, links).makespan_s;
    const double measured_s = done.measurement.iterations.back().seconds;
    std::uint32_t unequal = 0;
    for (const DeltaVersion& version : done.versions) unequal += version.prints_unequal;
    return fmt::format("{} {} {} {} {}", done.measurement.wrong_bytes, unequal,
                       done.versions.size(), measured_s, predicted_s);
  });
  std::istringstream in(said);
  std::int64_t wrong = -1, unequal = -1, versions = 0;
  double measured_s = 0, predicted_s = 0;
  in >> wrong >> unequal >> versions >> measured_s >> predicted_s;
  CAPTURE(said);
  CHECK(wrong == 0);
  CHECK(unequal == 0);
  CHECK(versions == 4);
  CHECK(predicted_s > 0.3);
  CHECK(measured_s / predicted_s > 0.9);
  CHECK(measured_s / predicted_s < 1.15);
}

// One store beside two trainers and an engine, its rank behind theirs.
DeltaCase beside_a_store() {
  return delta_case({{1, 2, 0}, {1, 2, 1}, {64, 96}, Dtype::bf16, 2}, "delta_object_store");
}

Cluster slow(const Cluster& cluster, double request_latency_s) {
  ClusterSpec spec = cluster.spec();
  for (NodeGroupSpec& group : spec.groups) {
    group.nic_bytes_per_s = 20 * kMbit;
    group.nvlink_bytes_per_s = 180 * kMbit;
  }
  spec.stores = {{"s3", 0, 40 * kMbit, 40 * kMbit, 1, request_latency_s, 1 << 20}};
  return Cluster(std::move(spec));
}

TEST_CASE("lab: a store that answers at once is one more rank, others are refused", "[executor]") {
  const DeltaCase c = beside_a_store();
  const LabOptions options;
  CHECK(detail::plan_lab(slow(c.cluster, 0), options).rank_links.size() == 5);
  CHECK_THROWS_WITH(detail::plan_lab(slow(c.cluster, 0.03), options),
                    "lab: store s3 has answers at once and connections as fast as itself, there; "
                    "set request_latency to 0 s and per_connection to 40.0 Mbit/s");
}

TEST_CASE("lab: versions go through a store", "[executor][lab]") {
  if (lab_is_refused()) return;
  const DeltaCase c = beside_a_store();
  const Cluster cluster = slow(c.cluster, 0);
  LabOptions lab_options;
  lab_options.prove = false;
  const std::string wrong = run_in_lab(cluster, lab_options, [&](Lab& lab) {
    TcpOptions tcp;
    tcp.network = &lab;
    tcp.failure.timeout_s = 30;
    tcp.failure.stall_timeout_s = 60;
    const DeltaMeasurement done = execute_delta_tcp(c.schedule, c.refit, cluster, versions(1), tcp);
    return fmt::format("{} of {}", done.measurement.wrong_bytes, done.versions.size());
  });
  CHECK(wrong == "0 of 2");
}

}  // namespace refit::test
