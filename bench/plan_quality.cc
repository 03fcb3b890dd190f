// How near the plans of `optimal` come to the proven bound, as the Markdown of
// docs/plan_quality.md. All times are wire-only: one simulator, line rates, no latency, no
// software.
//   plan_quality [published] [small] [named] [random [FIRST_SEED COUNT]]      default: all parts
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "bench/measured_child.h"
#include "models/parcels.h"
#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"
#include "sim/flow_bound.h"
#include "sim/predict.h"
#include "tests/support/random_refit.h"

namespace refit::bench {
namespace {

constexpr const char* kIntroduction =
    "# How near plans come to their bound\n\n"
    "Written by `make plan_quality`. Times are wire-only: one simulator, line rates, no latency, "
    "no\n"
    "software, the same for all strategies. The bound is [proven](lower_bound.md); 1.00 leaves "
    "nothing to\n"
    "gain. Every plan here is proved by `verify`.\n";
constexpr const char* kRandomWords =
    "## Random clusters and layouts\n\n"
    "Domains of 1 to 16 GPUs, NICs of 25, 50 and 100 GB/s, trunks that carry a half or a quarter,\n"
    "replicas, pipeline stages, one or two cut dims, ranks that train and generate\n"
    "(`tests/support/random_refit.h`). The worst are of four kinds:\n\n"
    "- *NVLink and NICs of a domain are all full*: each time that two ports wait for the same "
    "third "
    "is lost.\n"
    "- *Trunks at both ends are full* at the same time: a transfer that waits for one holds up the "
    "other.\n"
    "- *NICs and a trunk behind them are both full*: what may only come from inside the pod comes "
    "late.\n"
    "- *Few sources, many islands*: chunks reach the last islands some relays after they left.\n";

constexpr std::uint32_t kFirstSeeds[] = {1001, 5001, 8001};

constexpr const char* kOthers[] = {"reshard", "direct", "hybrid", "gather_broadcast"};

double wire_seconds(const Schedule& schedule, const Cluster& cluster) {
  return predict(schedule, cluster, {wire_only(), {}}).makespan_s;
}

Schedule proved(const Refit& refit, const Cluster& cluster, const char* strategy,
                const PlanOptions& options = {}) {
  Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
  const Diagnostics findings = verify(schedule, refit);
  if (!findings.empty()) {
    throw Error(
        ErrorCode::check_failed,
        fmt::format("{} plan: {}: {}", strategy, findings.front().where, findings.front().message));
  }
  return schedule;
}

struct Quality {
  double bound_s = 0, no_relay_s = 0, optimal_s = 0, plan_s = 0;
  std::string binding;
  double ratio() const { return bound_s > 0 ? optimal_s / bound_s : 1; }  // or nothing need move
};

Quality quality(const Refit& refit, const Cluster& cluster) {
  const FlowBound bound = flow_bound(find_parcels(refit), cluster);
  const auto start = std::chrono::steady_clock::now();
  const Schedule schedule = proved(refit, cluster, "optimal");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {bound.seconds, bound.no_relay_seconds, wire_seconds(schedule, cluster), took.count(),
          bound.binding};
}

// Text that a child process hands back: numbers with all their digits, one a line, then words.
std::string to_text(const Quality& q) {
  return fmt::format("{} {} {} {} {}", q.bound_s, q.no_relay_s, q.optimal_s, q.plan_s, q.binding);
}
Quality from_text(const std::string& text) {
  Quality q;
  int read = 0;
  if (std::sscanf(text.c_str(), "%lf %lf %lf %lf %n", &q.bound_s, &q.no_relay_s, &q.optimal_s,
                  &q.plan_s, &read) < 4) {
    throw Error(ErrorCode::environment, "a measuring process said: " + text);
  }
  q.binding = text.substr(static_cast<std::size_t>(read));
  return q;
}

std::string others_row(const Scenario& s, double optimal_s) {
  std::string row;
  for (const char* strategy : kOthers) {
    const Schedule schedule = proved(s.refit, s.cluster, strategy, s.plan);
    row += fmt::format(" {:.2f} x |", wire_seconds(schedule, s.cluster) / optimal_s);
  }
  return row;
}

// Every scenario file of a folder: how near, and how much slower the others are.
void table_of_files(const std::string& folder) {
  fmt::print("| scenario | bound | without relays | `optimal` | / bound | set by |");
  for (const char* strategy : kOthers) fmt::print(" {} |", strategy);
  fmt::print("\n|---|---|---|---|---|---|---|---|---|---|\n");
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(REFIT_SOURCE_DIR) + "/scenarios/" + folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const Scenario s = load_scenario(file.string());
    const Measured m = measured_child([&] { return to_text(quality(s.refit, s.cluster)); });
    const Quality q = from_text(m.text);
    const Measured others = measured_child([&] { return others_row(s, q.optimal_s); });
    fmt::print("| `{}` | {} | {} | {} | {:.3f} | {} |{}\n", file.stem().string(),
               format_seconds(q.bound_s), format_seconds(q.no_relay_s), format_seconds(q.optimal_s),
               q.ratio(), q.binding, others.text);
    std::fflush(stdout);
  }
}

// Refits of which it is known what a plan can gain.
struct Named {
  const char* what;
  const char* yaml;
  const char* planned_on =
      nullptr;  // domains that `reshard` takes for real; nothing: the real ones
};
constexpr Named kNamed[] = {
    {"Qwen3-32B TP4 PP4 DP2 -> TP4 DP8, H100: replicas idle",
     "cluster: {catalog: dgx_h100, nodes: 8}\nmodel: qwen3-32b\n"
     "training: {engine: megatron, gpus: 32, tensor: 4, pipeline: 4}\n"
     "generation: {engine: vllm, gpus: 32, tensor: 4}\n"},
    {"Qwen3-32B TP2 DP2 -> TP1 DP16 in one rack: replicas idle",
     "cluster: {catalog: gb200_nvl72, nodes: 5, domain_sizes: [4, 16]}\nmodel: qwen3-32b\n"
     "training: {engine: megatron, gpus: 4, tensor: 2}\n"
     "generation: {engine: vllm, gpus: 16, tensor: 1}\n"},
    {"Qwen3-32B TP8, 8 source replicas -> TP8 DP8, rack to rack",
     "cluster: {catalog: gb200_nvl72, nodes: 32, domain_sizes: [64, 64]}\nmodel: qwen3-32b\n"
     "training: {engine: megatron, gpus: 64, tensor: 8}\n"
     "generation: {engine: vllm, gpus: 64, tensor: 8}\n"},
    {"Qwen3-32B TP8, one source replica -> TP8 DP8: the sources' NICs are all there is",
     "cluster: {catalog: gb200_nvl72, nodes: 18, domain_sizes: [8, 64]}\nmodel: qwen3-32b\n"
     "training: {engine: megatron, gpus: 8, tensor: 8}\n"
     "generation: {engine: vllm, gpus: 64, tensor: 8}\n"},
    {"experts of 16 -> TP8 DP16, racks of 64, domains counted from rank 0",
     "cluster: {catalog: gb200_nvl72, nodes: 36, domain_sizes: [16, 64, 64]}\n"
     "tensors:\n  - name: experts\n    shape: [256, 2048, 7168]\n    dtype: f8_e4m3\n"
     "    source: {ranks: 0..15, placements: [shard(0)]}\n"
     "    destination: {ranks: 16..143, mesh: {copy: 16, part: 8}, placements: [replicate, "
     "shard(1)]}\n",
     "cluster: {catalog: gb200_nvl72, nodes: 36, domain_sizes: [64, 64, 16]}"},
};

void named_table() {
  fmt::print(
      "| refit | bound | `optimal` | / bound | set by | reshard / optimal |\n"
      "|---|---|---|---|---|---|\n");
  for (const Named& named : kNamed) {
    const auto scenario = [&](const std::string& cluster) {
      return parse_scenario("scenario: named\n" + cluster, named.what);
    };
    const std::string yaml = named.yaml;
    const Scenario real = scenario(yaml);
    const Scenario planned = named.planned_on == nullptr
                                 ? real
                                 : scenario(named.planned_on + yaml.substr(yaml.find('\n')));
    const Measured m = measured_child([&] { return to_text(quality(real.refit, real.cluster)); });
    const Quality q = from_text(m.text);
    const Schedule reshard = proved(real.refit, planned.cluster, "reshard", real.plan);
    fmt::print("| {} | {} | {} | {:.3f} | {} | {:.2f} |\n", named.what, format_seconds(q.bound_s),
               format_seconds(q.optimal_s), q.ratio(), q.binding,
               wire_seconds(reshard, real.cluster) / q.optimal_s);
  }
}

void random_table(std::uint32_t first, std::uint32_t count) {
  struct Row {
    std::uint32_t seed;
    Quality q;
    std::string words;
  };
  std::vector<Row> rows;
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const test::RandomRefit random = test::random_refit(seed);
    const Measured m =
        measured_child([&] { return to_text(quality(random.refit, random.cluster)); });
    rows.push_back({seed, from_text(m.text), random.words});
    fmt::print(stderr, "{} {:.4f} {:.1f} s  {}\n", seed, rows.back().q.ratio(),
               rows.back().q.plan_s, random.words);
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.q.ratio() > b.q.ratio(); });
  const auto within = [&](double limit) {
    const auto n = std::count_if(rows.begin(), rows.end(),
                                 [&](const Row& row) { return row.q.ratio() <= limit; });
    return 100.0 * static_cast<double>(n) / static_cast<double>(rows.size());
  };
  fmt::print(
      "\nSeeds {} to {}: median {:.4f}, within 1.02 {:.1f} %, within 1.05 {:.1f} %, "
      "within 1.10 {:.1f} %, worst {:.3f}.\n\n",
      first, first + count - 1, rows[rows.size() / 2].q.ratio(), within(1.02), within(1.05),
      within(1.10), rows.front().q.ratio());
  fmt::print(
      "| seed | / bound | bound | without relays | set by | refit |\n|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < std::min<std::size_t>(10, rows.size()); ++i) {
    const Row& row = rows[i];
    fmt::print("| {} | {:.3f} | {} | {} | {} | {} |\n", row.seed, row.q.ratio(),
               format_seconds(row.q.bound_s), format_seconds(row.q.no_relay_s), row.q.binding,
               row.words);
  }
}

}  // namespace
}  // namespace refit::bench

int main(int argc, char** argv) {
  using namespace refit::bench;
  const std::vector<std::string> parts(argv + 1, argv + argc);
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  try {
    if (parts.empty()) fmt::print("{}", kIntroduction);
    if (wanted("published")) {
      fmt::print("\n## Published refits\n\nOthers: their time over that of `optimal`.\n\n");
      table_of_files("published");
    }
    if (wanted("named")) {
      fmt::print("\n## Where it is known what a plan can gain\n\n");
      named_table();
    }
    if (wanted("small")) {
      fmt::print(
          "\n## Small scenarios\n\nMost move so little that chunks are few to a NIC, though those "
          "are smaller there.\n\n");
      table_of_files("small");
    }
    if (wanted("random")) {
      fmt::print("\n{}", kRandomWords);
      const auto at = std::find(parts.begin(), parts.end(), "random");
      if (parts.end() - at > 2) {
        random_table(static_cast<std::uint32_t>(std::stoul(at[1])),
                     static_cast<std::uint32_t>(std::stoul(at[2])));
      } else {
        for (const std::uint32_t first : kFirstSeeds) random_table(first, 300);
      }
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "plan_quality: {}\n", e.what());
    return 1;
  }
}
