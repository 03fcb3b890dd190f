// What must hold whatever the plan: bytes, bounds and the scaling of time, on real scenarios.
#include <catch2/catch.hpp>

#include "models/parcels.h"
#include "scenarios/scenario.h"
#include "sim/lower_bound.h"
#include "sim/predict.h"
#include "sim/traffic.h"

namespace refit::test {
namespace {

const char* const kStrategies[] = {"gather_broadcast", "direct", "reshard", "hybrid"};

Scenario published(const std::string& name) {
  return load_scenario(std::string(REFIT_SOURCE_DIR) + "/scenarios/published/" + name + ".yaml");
}

Cluster faster(const Cluster& cluster, double factor) {
  ClusterSpec spec = cluster.spec();
  for (NodeGroupSpec& group : spec.groups) {
    group.nvlink_bytes_per_s *= factor;
    group.nic_bytes_per_s *= factor;
    if (group.pcie_bytes_per_s) *group.pcie_bytes_per_s *= factor;
  }
  for (WanSpec& wan : spec.wans) wan.bytes_per_s *= factor;
  return Cluster(spec);
}

Schedule plan_of(const Scenario& s, const char* strategy) {
  return plan(s.refit, s.cluster, named_policy(strategy), s.plan);
}

}  // namespace

TEST_CASE("the bound stands below every wire-only prediction and falls as bandwidth grows",
          "[invariance]") {
  const Scenario s =
      published(GENERATE("qwen3_235b_h100", "m2n_qwen3_235b_gb200", "nemotron_ultra_gb200"));
  CAPTURE(s.name);
  const auto parcels = find_parcels(s.refit);
  const double bound = lower_bound(parcels, s.cluster).seconds;
  REQUIRE(bound > 0);
  REQUIRE(lower_bound(parcels, faster(s.cluster, 2)).seconds == Approx(bound / 2).epsilon(1e-12));
  double last = bound;
  for (const double factor : {1.1, 1.5, 3.0}) {
    const double now = lower_bound(parcels, faster(s.cluster, factor)).seconds;
    REQUIRE(now <= last);
    last = now;
  }
  for (const char* strategy : kStrategies) {
    CAPTURE(strategy);
    REQUIRE(bound <= predict(plan_of(s, strategy), s.cluster).makespan_s * (1 + 1e-9));
  }
}

TEST_CASE("all bandwidths times s give the wire-only time over s", "[invariance]") {
  const Scenario s = published("m2n_qwen3_235b_gb200");
  for (const char* strategy : kStrategies) {
    CAPTURE(strategy);
    const Schedule schedule = plan_of(s, strategy);
    const double time = predict(schedule, s.cluster).makespan_s;
    for (const double factor : {0.25, 2.0, 8.0}) {
      REQUIRE(predict(schedule, faster(s.cluster, factor)).makespan_s ==
              Approx(time / factor).epsilon(1e-6));
    }
  }
}

TEST_CASE("a prediction is the same each time, to the last bit", "[invariance]") {
  const Scenario s = published("qwen3_235b_h100");
  for (const char* strategy : kStrategies) {
    const Schedule schedule = plan_of(s, strategy);
    PredictOptions options;
    options.network_model = s.network_model;
    const Prediction first = predict(schedule, s.cluster, options);
    const Prediction second = predict(schedule, s.cluster, options);
    REQUIRE(first.timeline == second.timeline);
    REQUIRE(first.link_bytes == second.link_bytes);
  }
}

TEST_CASE("in one rack, direct sends eight copies where reshard sends one, and is slower for it",
          "[published]") {
  const Scenario s = published("m2n_qwen3_235b_gb200");
  const auto run = [&](const char* strategy) {
    const Schedule schedule = plan_of(s, strategy);
    return std::pair(traffic_totals(schedule, s.cluster), predict(schedule, s.cluster).makespan_s);
  };
  const auto [direct, direct_s] = run("direct");
  const auto [reshard, reshard_s] = run("reshard");
  // Every engine is in the rack: its copy by network is what replicas cost. KV heads and what
  // tensor parallel ranks replicate come on top for direct only.
  REQUIRE(reshard.network_bytes ==
          Approx(static_cast<double>(s.refit.unique_bytes())).epsilon(1e-12));
  REQUIRE(direct.network_bytes ==
          Approx(static_cast<double>(s.refit.payload_bytes())).epsilon(1e-12));
  REQUIRE(direct.network_bytes > 8 * reshard.network_bytes);
  REQUIRE(direct_s > 2 * reshard_s);
}

TEST_CASE("published byte counts: Kimi K3 and Qwen3.8", "[published]") {
  const auto logical = [](const Scenario& s) {
    return traffic_totals(plan_of(s, "gather_broadcast"), s.cluster).logical_bytes;
  };
  const Scenario kimi = published("kimi_k3");
  REQUIRE(kimi.refit.unique_bytes() == 5'558'968'952'000);
  REQUIRE(logical(kimi) == 11'117'937'904'000);  // published: about 11.2 TB from 5.6
  const Scenario qwen = published("qwen3_8_2_4t");
  REQUIRE(qwen.refit.unique_bytes() == 4'839'609'395'968);
  REQUIRE(logical(qwen) == 9'679'218'791'936);  // published: about 9.6 TB from 4.8
}

TEST_CASE("published bounds: ingress of a node of eight 50 GB/s NICs", "[published]") {
  const auto bound = [](const char* name) {
    const Scenario s = published(name);
    return lower_bound(find_parcels(s.refit), s.cluster);
  };
  // 470,187,269,120 B through 8 NICs of 50 GB/s.
  REQUIRE(bound("qwen3_235b_h100").seconds == Approx(470'187'269'120 / 400e9).epsilon(1e-9));
  // A quarter of what TP32 cuts and all that it replicates, per node: 0.84 s.
  REQUIRE(bound("deepseek_v3_h100").seconds == Approx(0.8426).epsilon(1e-3));
}

}  // namespace refit::test
