#include "cli/delta_run.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/delta_facts.h"
#include "executor/delta/execute_delta.h"
#include "executor/delta/sized_schedule.h"
#include "executor/job.h"
#include "executor/lab.h"
#include "executor/lab_envelope.h"
#include "executor/object_store/s3_store.h"
#include "report/measurement_json.h"

namespace refit {
namespace {

constexpr const char* kInproc =
    "inproc has no network: the machine's memory moved the payloads, which proves them and times "
    "nothing";
constexpr const char* kLoopback =
    "tcp between processes of one machine: the loopback has none of the cluster's links";
constexpr const char* kStore = "payloads went through the object store, not over the plan's links";

// In units of BF16 shards: weights, baseline and what Adam keeps (12 bytes per element); on the
// other side the weights, what they should be, and the Adam that says so.
constexpr int kTrainerShards = 8;

std::string environment_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::function<std::unique_ptr<ObjectStore>()> opener(const std::string& url) {
  S3Options options;
  options.region = environment_or("AWS_REGION", "us-east-1");
  options.access_key = environment_or("AWS_ACCESS_KEY_ID", "");
  options.secret_key = environment_or("AWS_SECRET_ACCESS_KEY", "");
  const S3Store refused_early(url, options);
  return [url, options] { return std::make_unique<S3Store>(url, options); };
}

DeltaRunOptions versions_of(const Scenario& scenario, const ExecuteOptions& options,
                            const RunFaults& faults, const VersionOptions& choices) {
  if (faults.policy != FaultPolicy::fail || faults.inject) {
    throw Error(ErrorCode::bad_input,
                "a run of versions ends when a rank is lost: the version before stays; leave "
                "--on-fault and the scenario's fault out");
  }
  require_memory(scenario.refit, kTrainerShards, kTrainerShards);
  DeltaRunOptions versions;
  versions.versions = options.iterations;
  versions.warmup = options.warmup;
  versions.check = options.check;
  versions.model.seed = options.seed;
  versions.moves = options.moves;
  versions.model.learning_rate = choices.learning_rate;
  versions.first_version = choices.first_version;
  if (choices.store) versions.store = opener(*choices.store);
  return versions;
}

SizedPlan sized_plan(const Schedule& schedule, const Refit& refit, const MoveOptions& moves,
                     const std::vector<std::uint64_t>& payload_bytes) {
  // Kept by the options.
  const auto geometry = std::make_shared<const DeltaGeometry>(refit, schedule);
  const auto bytes = std::make_shared<const std::vector<std::uint64_t>>(payload_bytes);
  SizedPlan plan{sized_schedule(schedule, *geometry, *bytes), moves};
  plan.moves.chunk_bytes = [geometry, bytes](ParcelId parcel, int chunk) {
    return static_cast<std::int64_t>((*bytes)[geometry->chunk(parcel, chunk)]);
  };
  return plan;
}

Run finished(DeltaMeasurement done, const Schedule& schedule, const Scenario& scenario,
             const ExecuteOptions& options, bool by_store, std::string not_graded) {
  if (done.versions.empty()) return {};  // a rank of a job that does not report
  for (const DeltaVersion& version : done.versions) {
    if (version.prints_unequal == 0) continue;
    throw Error(ErrorCode::check_failed,
                fmt::format("version {}: {} of {} tensors have other fingerprints on the "
                            "generation side than on the training side",
                            version.version, version.prints_unequal, version.prints_compared));
  }
  Run run;
  run.not_graded = std::move(not_graded);
  run.measurement = std::move(done.measurement);
  for (auto& fact : delta_facts(done.versions, *schedule.coding))
    run.measurement.environment.push_back(std::move(fact));
  if (by_store) return run;
  run.sized = sized_plan(schedule, scenario.refit, options.moves, done.payload_bytes);
  run.measurement.largest_rank_bytes = largest_rank_bytes(
      write_out(run.sized->schedule, scenario.refit, scenario.cluster, run.sized->moves),
      schedule.ranks);
  run.measurement.environment.emplace_back(
      "times",
      "of the payloads on the wire alone; size and pred are of the last version, with "
      "the sizes its payloads had instead of those the plan expected");
  return run;
}

Run run_versions_inproc(const Schedule& schedule, const Scenario& scenario,
                        const ExecuteOptions& options, const RunFaults& faults,
                        const VersionOptions& choices) {
  const DeltaRunOptions versions = versions_of(scenario, options, faults, choices);
  return finished(execute_delta_inproc(schedule, scenario.refit, scenario.cluster, versions),
                  schedule, scenario, options, choices.store.has_value(),
                  choices.store ? kStore : kInproc);
}

Run run_versions_tcp(const Schedule& schedule, const Scenario& scenario,
                     const ExecuteOptions& options, const RunFaults& faults,
                     const std::optional<RankEnvironment>& place, const VersionOptions& choices) {
  const DeltaRunOptions versions = versions_of(scenario, options, faults, choices);
  TcpOptions tcp;
  if (place) {
    tcp.failure.timeout_s = faults.timeout_s.value_or(tcp.failure.timeout_s);
    return finished(
        execute_delta_tcp_rank(*place, schedule, scenario.refit, scenario.cluster, versions, tcp),
        schedule, scenario, options, choices.store.has_value(),
        choices.store ? kStore : kLinksNotKnown);
  }
  // Ranks that share a core wait for it: that is no sign of a loss.
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  tcp.failure.timeout_s =
      faults.timeout_s.value_or(std::max(tcp.failure.timeout_s, 0.25 * schedule.ranks / cores));
  return finished(execute_delta_tcp(schedule, scenario.refit, scenario.cluster, versions, tcp),
                  schedule, scenario, options, choices.store.has_value(),
                  choices.store ? kStore : kLoopback);
}

// The lab is a process of its own: its measurement comes back as text, and the versions after it.
Run run_versions_over_lab(const Schedule& schedule, const Scenario& scenario,
                          const ExecuteOptions& options, const RunFaults& faults,
                          const VersionOptions& choices) {
  DeltaRunOptions versions = versions_of(scenario, options, faults, choices);
  versions.anchor = false;  // a hundred times what a version is, on links that are slow on purpose
  LabOptions lab_options;
  // Versions are short: what a port lets through at once must be little beside them, but no less
  // than its largest packet.
  lab_options.burst_bytes = 10000;
  lab_options.fair = true;  // rounds wait for their slowest transfer, so single transfers matter
  const std::string text = run_in_lab(scenario.cluster, lab_options, [&](Lab& lab) {
    TcpOptions tcp;
    tcp.network = &lab;
    if (schedule.ranks > 8) tcp.socket_buffer_bytes = 64 << 10;
    tcp.failure.timeout_s = faults.timeout_s.value_or(30);
    tcp.failure.stall_timeout_s = 60;
    const DeltaMeasurement done =
        execute_delta_tcp(schedule, scenario.refit, scenario.cluster, versions, tcp);
    RunReport report;
    report.measurement = done.measurement;
    report.measurement.transport = "tcp --lab";
    const SizedPlan sized = sized_plan(schedule, scenario.refit, options.moves, done.payload_bytes);
    report.not_graded =
        envelope_fault(report.measurement,
                       write_out(sized.schedule, scenario.refit, scenario.cluster, sized.moves),
                       static_cast<int>(std::thread::hardware_concurrency()));
    std::ostringstream out;
    write_measurement(out, report);
    return out.str() + '\0' + encode_versions(done);
  });
  const std::size_t end = std::min(text.find('\0'), text.size() - 1);
  RunReport report = read_measurement(text.substr(0, end), "lab");
  DeltaMeasurement done;
  decode_versions(std::string_view(text).substr(end + 1), done);
  done.measurement = std::move(report.measurement);
  return finished(std::move(done), schedule, scenario, options, false,
                  std::move(report.not_graded));
}

}  // namespace

Runner with_versions(Runner runner, bool lab, const VersionOptions& options) {
  if (options.store) {
    if (lab) throw Error(ErrorCode::bad_input, "--store: nothing goes over the lab's links then");
    runner.has_network = false;
  }
  const std::string transport = runner.transport;
  runner.run = [inner = std::move(runner.run), transport, lab, options, place = environment_rank()](
                   const Schedule& schedule, const Scenario& scenario,
                   const ExecuteOptions& execute, const RunFaults& faults) {
    if (!schedule.coding && !options.store && options.first_version == 0)
      return inner(schedule, scenario, execute, faults);
    if (!schedule.coding && !options.store) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("--first-version: {} sends whole weights, and only changes have "
                              "versions; use --strategy delta_reshard",
                              schedule.strategy));
    }
    if (!schedule.coding) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("--store: {} sends whole weights, and only changes travel through a "
                              "store; use --strategy delta_reshard",
                              schedule.strategy));
    }
    if (lab) return run_versions_over_lab(schedule, scenario, execute, faults, options);
    if (transport == "inproc")
      return run_versions_inproc(schedule, scenario, execute, faults, options);
    if (transport == "tcp")
      return run_versions_tcp(schedule, scenario, execute, faults, place, options);
    throw Error(ErrorCode::bad_input,
                fmt::format("--transport {}: {} sends changes, which are run by inproc and tcp",
                            transport, schedule.strategy));
  };
  return runner;
}

}  // namespace refit
