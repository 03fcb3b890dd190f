// The rate solvers alone: task graphs are built, then solved, and only the solving is counted. Each
// row is a process of its own; seconds are of its processor.
//
// Half of the GPUs (400 Gbit/s NICs) send 128 transfers each to the other half, one after the
// other:
//   conflict-free  64 MB, in round k from sender i to receiver i + k: no two share a NIC
//   random         to receivers drawn at random, 1 to 255 MB, on a fabric that never blocks
//   ecmp           the same through leaves of 32 GPUs with a 400 Gbit/s cable to each of 32 spines,
//                  one of which a hash of the pair picks
// SimGrid's own solver is given the first 4 rounds only, since its time grows with the square of
// what is under way.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <malloc.h>
#include <sys/resource.h>

#include <fmt/format.h>

#include "bench/exponent.h"
#include "bench/interleaved.h"
#include "bench/measured_child.h"
#include "sim/detail/solver.h"
#include "tests/sim/flow_graphs.h"
#include "topology/cluster_yaml.h"

namespace refit::bench {
namespace {

using detail::TaskGraph;

constexpr int kRounds = 128;
constexpr int kRoundsOfNative = 4;
constexpr rlim_t kMostSeconds = 60;
constexpr double kTickSeconds = 0.004;  // of the processor clock, where it is coarse

// What stands behind `key` in /proc/self/status, in MiB.
double status_mib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) / 1024;
  }
  return 0;
}

struct Cost {
  double cpu_s = 0;
  double mib = 0;  // more than before, at the peak
};

Cost cost_of(const std::function<void()>& work) {
  malloc_trim(0);                               // or what was freed before is used again unseen
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins here
  const double before_mib = status_mib("VmRSS");
  const double cpu_s = cpu_seconds_of(work);
  return {cpu_s, status_mib("VmHWM") - before_mib};
}

struct Solved {
  std::size_t transfers = 0;
  double build_s = 0;
  Cost solve;
  double end_s = 0;  // of the last transfer
};

using Build = std::function<TaskGraph()>;
using Solve = std::function<Timeline(const TaskGraph&)>;

// Nothing if it took too long.
std::optional<Solved> solved(const Build& build, const Solve& solve) {
  const Measured m = measured_child([&] {
    const rlimit limit{kMostSeconds, kMostSeconds + 1};  // a signal, then the end
    setrlimit(RLIMIT_CPU, &limit);
    TaskGraph graph;
    const double build_s = cpu_seconds_of([&] { graph = build(); });
    double end_s = 0;
    const Cost cost = cost_of([&] {
      for (const Span& span : solve(graph)) end_s = std::max(end_s, span.end_s);
    });
    return fmt::format("{} {} {} {} {}", graph.tasks(), build_s, cost.cpu_s, cost.mib, end_s);
  });
  Solved result;
  std::istringstream numbers(m.text);
  numbers >> result.transfers >> result.build_s >> result.solve.cpu_s >> result.solve.mib >>
      result.end_s;
  return numbers ? std::optional(result) : std::nullopt;
}

void print_row(const char* name, int gpus, const char* solver, const std::optional<Solved>& s) {
  fmt::print("{:14} {:6} {:12} ", name, gpus, solver);
  if (!s) {
    fmt::print("not within {} s\n", kMostSeconds);
    return;
  }
  const auto transfers = static_cast<double>(s->transfers);
  fmt::print("{:9} {:8.3f} {:8.3f} {:12.3f} {:10.0f} {:10.4f}\n", s->transfers, s->build_s,
             s->solve.cpu_s, 1e6 * s->solve.cpu_s / transfers, s->solve.mib * 1048576 / transfers,
             s->end_s);
}

void print_case(const char* name, const std::function<TaskGraph(int gpus, int rounds)>& build) {
  const Solve incremental = [](const TaskGraph& graph) { return detail::run_incremental(graph); };
  std::vector<std::pair<double, double>> points;
  for (const int gpus : {1024, 4096, 16384}) {
    const auto full = solved([&] { return build(gpus, kRounds); }, incremental);
    print_row(name, gpus, "incremental", full);
    if (full) points.emplace_back(full->transfers, full->solve.cpu_s);
    const Build few = [&] { return build(gpus, kRoundsOfNative); };
    const auto ours = solved(few, incremental);
    print_row(name, gpus, "incremental", ours);
    const auto native = solved(few, detail::run_native);
    print_row(name, gpus, "native", native);
    if (ours && native) {
      fmt::print("{:35}at least {:.0f} times slower, ends apart by {:.1e}\n", "",
                 native->solve.cpu_s / std::max(ours->solve.cpu_s, kTickSeconds),
                 std::abs(native->end_s / ours->end_s - 1));
    }
  }
  fmt::print("{}: seconds grow with transfers^{:.2f}\n\n", name, exponent(points));
}

void print_platform(const char* name, const std::function<void()>& work) {
  const Measured m = measured_child([&] {
    const Cost cost = cost_of(work);
    return fmt::format("{:8.3f} {:8.1f}", cost.cpu_s, cost.mib);
  });
  fmt::print("{:34} {}\n", name, m.text);
}

// Every GPU's four ports, each on some path, and no transfers.
TaskGraph ports_only(int gpus) {
  test::FlowGraphWriter graph;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (const double rate : {450e9, 50e9}) {
      const LinkId out = graph.link(rate), in = graph.link(rate);
      graph.path(std::vector<PathLink>{{out, 1}, {in, 1}});
    }
  }
  return graph.finish();
}

void print_platforms() {
  constexpr int kGpus = 102'400;
  const TaskGraph graph = ports_only(kGpus);
  fmt::print("{} GPUs with four ports each\n{:34} {:>8} {:>8}\n", kGpus, "", "cpu s", "MiB");
  print_platform("native: SimGrid's links", [&] { detail::run_native(graph); });
  print_platform("incremental", [&] { detail::run_incremental(graph); });
  print_platform("Cluster of 12,800 dgx_h100 nodes", [] {
    const CatalogCluster catalog = catalog_cluster("dgx_h100");
    ClusterSpec spec{{catalog.group}, {catalog.fabric}, {"here"}, {}};
    spec.groups[0].nodes = kGpus / 8;
    const Cluster cluster(std::move(spec));
    if (cluster.gpus() != kGpus) std::abort();
  });
}

}  // namespace
}  // namespace refit::bench

int main() {
  using namespace refit;
  using namespace refit::bench;
  const auto flat = [](int gpus) { return test::FabricShape{.gpus = gpus}; };
  const auto clos = [](int gpus) {
    return test::FabricShape{
        .gpus = gpus, .gpus_per_leaf = 32, .spines = 32, .cable_bytes_per_s = 50e9};
  };
  print_platforms();
  fmt::print("\n{:14} {:>6} {:12} {:>9} {:>8} {:>8} {:>12} {:>10} {:>10}\n", "", "GPUs", "solver",
             "transfers", "build s", "solve s", "us/transfer", "B/transfer", "last end s");
  print_case("conflict-free",
             [&](int gpus, int rounds) { return test::shifted_rounds(flat(gpus), rounds, 64e6); });
  print_case("random",
             [&](int gpus, int rounds) { return test::random_m2n(flat(gpus), rounds, 1); });
  print_case("ecmp", [&](int gpus, int rounds) { return test::random_m2n(clos(gpus), rounds, 1); });
}
