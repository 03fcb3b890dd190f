#include "cli/runners.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/delta_run.h"
#include "cli/gpu_runner.h"
#include "executor/execute_tcp.h"
#include "executor/job.h"
#include "executor/lab.h"
#include "executor/lab_envelope.h"
#include "executor/rank_environment.h"
#include "report/measurement_json.h"

namespace refit {
namespace {

constexpr const char* kNoNetwork =
    "inproc has no network: the machine's memory moved the bytes, which proves them and times "
    "nothing";

constexpr const char* kLab = "tcp --lab";
constexpr const char* kLoopback =
    "tcp between processes of one machine: the loopback has none of the cluster's links";

// Destination shards of a rank that is a process: received and published (RankMemory).
constexpr int kPublished = 2;

// What the kernel would give without paging out, if it says so.
std::optional<double> available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string name; meminfo >> name;) {
    double kibibytes = 0;
    if (name == "MemAvailable:" && meminfo >> kibibytes) return kibibytes * 1024;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

double shard_bytes(const Refit& refit, int destinations, int sources) {
  double sum = 0;
  for (const TensorClass& c : refit.classes) {
    sum += static_cast<double>(sources * c.source.held_elements() +
                               destinations * c.destination.held_elements()) *
           bytes_per_element(c.dtype);
  }
  return sum;
}

Run run_inproc(const Schedule& schedule, const Scenario& scenario, const ExecuteOptions& options,
               const RunFaults&) {
  require_memory(scenario.refit);
  return {execute_inproc(schedule, scenario.refit, scenario.cluster, options), kNoNetwork};
}

// Under mpirun, srun or torchrun this process is one rank; otherwise it starts them all.
Runner tcp_runner() {
  Runner runner;
  runner.transport = "tcp";
  const std::optional<RankEnvironment> place = environment_rank();
  runner.has_network = place.has_value();
  runner.reports = !place || place->rank == Rank(0);
  if (!runner.reports) runner.said_elsewhere = said_by_rank_zero(*place);
  runner.can_lose_ranks = true;
  runner.run = [place](const Schedule& schedule, const Scenario& scenario,
                       const ExecuteOptions& options, const RunFaults& faults) -> Run {
    TcpOptions tcp;
    tcp.policy = faults.policy;
    tcp.inject = faults.inject;
    if (place) {
      tcp.failure.timeout_s = faults.timeout_s.value_or(tcp.failure.timeout_s);
      return {execute_tcp_rank(*place, schedule, scenario.refit, scenario.cluster, options, tcp),
              kLinksNotKnown};
    }
    require_memory(scenario.refit, kPublished);
    // Ranks that share a core wait for it: that is no sign of a loss.
    const double cores = std::max(1u, std::thread::hardware_concurrency());
    tcp.failure.timeout_s =
        faults.timeout_s.value_or(std::max(tcp.failure.timeout_s, 0.25 * schedule.ranks / cores));
    return {execute_tcp(schedule, scenario.refit, scenario.cluster, options, tcp), kLoopback};
  };
  return runner;
}

// The lab is a process of its own: its measurement comes back as the text that a user would save.
Run run_over_lab(const Schedule& schedule, const Scenario& scenario, const ExecuteOptions& options,
                 const RunFaults& faults) {
  require_memory(scenario.refit, kPublished);
  const Moves moves = write_out(schedule, scenario.refit, scenario.cluster, options.moves);
  LabOptions lab_options;
  lab_options.fair = true;  // rounds wait for their slowest transfer, so single transfers matter
  const std::string text = run_in_lab(scenario.cluster, lab_options, [&](Lab& lab) {
    TcpOptions tcp;
    tcp.network = &lab;
    // Scaled links are slow and shared: windows must be small beside what a port carries, or they
    // stand in its queue for seconds, in which nobody is dead.
    if (schedule.ranks > 8) tcp.socket_buffer_bytes = 64 << 10;
    tcp.failure.timeout_s = faults.timeout_s.value_or(30);
    tcp.failure.stall_timeout_s = 60;
    tcp.policy = faults.policy;
    tcp.inject = faults.inject;
    RunReport report;
    report.measurement = execute_tcp(schedule, scenario.refit, scenario.cluster, options, tcp);
    report.measurement.transport = kLab;
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    report.not_graded = envelope_fault(report.measurement, moves, cores);
    std::ostringstream out;
    write_measurement(out, report);
    return out.str();
  });
  RunReport report = read_measurement(text, "lab");
  return {std::move(report.measurement), std::move(report.not_graded)};
}

Runner lab_runner() {
  Runner runner;
  runner.transport = kLab;
  runner.has_network = true;
  runner.can_lose_ranks = true;
  runner.link_efficiency = link_efficiency(kLab);
  runner.run = run_over_lab;
  return runner;
}

Runner whole_weights(const std::string& transport, bool lab) {
  if (lab) {
    if (transport == "tcp") return lab_runner();
    throw Error(ErrorCode::bad_input,
                fmt::format("--lab: '{}' has no links to emulate; use --transport tcp", transport));
  }
  if (transport == "inproc") {
    Runner runner;
    runner.transport = transport;
    runner.run = run_inproc;
    return runner;
  }
  if (transport == "tcp") return tcp_runner();
  if (auto runner = gpu_runner(transport)) return *runner;
  throw Error(
      ErrorCode::bad_input,
      fmt::format("--transport: '{}' is unknown; use inproc, tcp, cuda or nccl", transport));
}

}  // namespace

void require_memory(const Refit& refit, int destinations, int sources) {
  const double needed = shard_bytes(refit, destinations, sources);
  const std::optional<double> available = available_bytes();
  if (!available || needed <= *available) return;
  throw Error(
      ErrorCode::environment,
      fmt::format("the shards of all ranks take {}, and this machine has {} of memory left; "
                  "use --scale 1/{:.0f} or smaller",
                  format_bytes(needed), format_bytes(*available),
                  std::ceil(1.5 * needed / *available)));
}

std::function<bool(const Error&)> said_by_rank_zero(const RankEnvironment& place) {
  return [place](const Error& error) {
    if (const auto* agreed = dynamic_cast<const RankFailure*>(&error))
      return !agreed->failure().alone;
    return tell_rank_zero(place, error);
  };
}

double link_efficiency(const std::string& transport) {
  return transport == kLab ? lab_goodput({}) : 1;
}

Runner runner_called(const std::string& transport, bool lab, const VersionOptions& versions) {
  return with_versions(whole_weights(transport, lab), lab, versions);
}

}  // namespace refit
