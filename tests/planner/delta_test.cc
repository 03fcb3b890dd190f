// Strategies that send changes only.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "delta/size_model.h"
#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "schedule/plan_hash.h"
#include "schedule/verify.h"
#include "sim/certificate.h"
#include "sim/coding_rates.h"
#include "sim/memory.h"
#include "sim/predict.h"
#include "sim/traffic.h"

namespace refit {
namespace {

// A matrix of 4,096 x 2,048 BF16 weights, 16 MiB, from a GPU with a NIC of 50 GB/s to another.
std::string two_ranks(const std::string& delta) {
  return R"(
scenario: two ranks
cluster: {catalog: dgx_h100, nodes: 2}
network_model:
  name: round numbers
  delta_scan: {value: 10 GB/s, source: chosen}
  delta_encode: {value: 20 GB/s, source: chosen}
  delta_decode: {value: 40 GB/s, source: chosen}
  delta_apply: {value: 5 GB/s, source: chosen}
  latencies: {value: false, source: chosen}
tensors:
  - name: w
    shape: [4096, 2048]
    dtype: bf16
    source: {ranks: 0..0, placements: [replicate]}
    destination: {ranks: 8..8, placements: [replicate]}
)" + delta;
}

constexpr const char* kDelta = "delta: {change: 1 %, codec: rice, place: host, cores: 1}\n";

Schedule planned(const Scenario& scenario, const char* strategy) {
  Schedule schedule = plan(scenario.refit, scenario.cluster, named_policy(strategy), scenario.plan);
  CHECK(verify(schedule, scenario.refit).empty());
  return schedule;
}

// Bytes that ranks are told to go through in this work, all ranks together.
double worked(const Schedule& schedule, Work work) {
  double bytes = 0;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::compute && op.work == work)
      bytes += static_cast<double>(op.bytes) *
               static_cast<double>(schedule.groups[op.group.index()].ranks.size());
  }
  return bytes;
}

}  // namespace

TEST_CASE("delta: two ranks by hand, scan, encode, wire, decode and apply one after the other",
          "[planner][delta]") {
  const Scenario scenario = parse_scenario(two_ranks(kDelta), "s.yaml");
  const Schedule schedule = planned(scenario, "delta_reshard");
  const double content = 4096 * 2048 * 2;
  // 1 % of 8,388,608 weights at so many bytes each: under 2 MiB, so one chunk.
  const auto wire = static_cast<double>(static_cast<std::int64_t>(
      std::ceil(0.01 * bytes_per_change(Codec::rice, 0.01) / 2 * content)));
  CHECK(traffic_totals(schedule, scenario.cluster).network_bytes == wire);
  const double by_hand = content * (1 / 10e9 + 1 / 20e9 + 1 / 40e9 + 1 / 5e9) + wire / 50e9;
  const PredictOptions options{scenario.network_model, {}};
  CHECK(predict(schedule, scenario.cluster, options).makespan_s ==
        Approx(by_hand).margin(1e-9).epsilon(0));
  // What no plan that sends these changes can beat: eight NICs lead into the node of rank 8.
  std::vector<Parcel> parcels = find_parcels(scenario.refit);
  CHECK(bound_of_refit(parcels, scenario.cluster).flow.seconds == Approx(content / 400e9));
  code_parcels(scenario.refit, *scenario.plan.delta, parcels);
  CHECK(bound_of_refit(parcels, scenario.cluster).flow.seconds == Approx(wire / 400e9));
}

TEST_CASE("delta: four cores work four times as fast, a GPU by the ratio of its scan",
          "[planner][delta]") {
  const auto seconds = [](const std::string& delta, const std::string& more) {
    std::string text = two_ranks(delta);
    text.insert(text.find("  latencies"), more);
    const Scenario scenario = parse_scenario(text, "s.yaml");
    const PredictOptions options{scenario.network_model, {}};
    const Schedule schedule = planned(scenario, "delta_reshard");
    return predict(schedule, scenario.cluster, options).makespan_s -
           predict(schedule, scenario.cluster).makespan_s;
  };
  const double content = 4096 * 2048 * 2;
  CHECK(seconds("delta: {change: 1 %, place: host, cores: 4}\n", "") ==
        Approx(content * (1 / 40e9 + 1 / 80e9 + 1 / 160e9 + 1 / 20e9)));
  // Memory lets 15 GB/s pass: scan (of 40) and apply (of 20) wait for it.
  CHECK(seconds("delta: {change: 1 %, place: host, cores: 4}\n",
                "  delta_memory: {value: 15 GB/s, source: chosen}\n") ==
        Approx(content * (1 / 15e9 + 1 / 80e9 + 1 / 160e9 + 1 / 15e9)));
  CHECK(seconds("delta: {change: 1 %, place: gpu}\n",
                "  delta_gpu: {value: 1 TB/s, source: chosen}\n") ==
        Approx(content * (1 / 1e12 + 1 / 2e12 + 1 / 4e12 + 1 / 0.5e12)));
}

namespace {

// Two trainers that hold half of each of eight matrices feed two engines of two.
constexpr const char* kFour = R"(
scenario: four ranks
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: experts
    shape: [4096, 2048]
    count: 8
    dtype: bf16
    role: routed_expert
    source: {ranks: 0..1, placements: [shard(0)]}
    destination: {ranks: 8..11, mesh: {engine: 2, tensor: 2}, placements: [replicate, shard(1)]}
  - name: router
    shape: [4096, 64]
    dtype: bf16
    role: router
    source: {ranks: 0..1, placements: [replicate]}
    destination: {ranks: 8..11, placements: [replicate]}
)";

constexpr double kExperts = 8.0 * 4096 * 2048 * 2, kRouter = 4096.0 * 64 * 2;

}  // namespace

TEST_CASE("delta: every change is scanned and coded once and applied by whoever demands it",
          "[planner][delta]") {
  const Scenario scenario =
      parse_scenario(std::string(kFour) + "delta: {change: 1 %, staged: false}\n", "s.yaml");
  const Schedule schedule = planned(scenario, "delta_reshard");
  CHECK(schedule.strategy == "delta_reshard");
  CHECK(worked(schedule, Work::scan) == kExperts + kRouter);
  CHECK(worked(schedule, Work::encode) == kExperts + kRouter);
  // Two engines, each with all experts over its two ranks and the router on both.
  CHECK(worked(schedule, Work::decode) == 2 * kExperts + 4 * kRouter);
  CHECK(worked(schedule, Work::apply) == 2 * kExperts + 4 * kRouter);
  // Baselines are as large as what is scanned.
  const Prediction prediction = predict(schedule, scenario.cluster);
  const MemoryUse use = memory_use(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  double baselines = 0;
  for (const RankMemoryUse& rank : use.peak)
    baselines += rank.bytes[index_of(MemoryTerm::baselines)];
  CHECK(baselines == kExperts + kRouter);
}

TEST_CASE("delta: a staged refit applies nothing before all has come", "[planner][delta]") {
  const auto timeline = [](const char* staged) {
    const Scenario scenario =
        parse_scenario(std::string(kFour) +
                           "delta: {change: 30 %, place: host, cores: 1, staged: " + staged + "}\n",
                       "s.yaml");
    const Schedule schedule = planned(scenario, "delta_reshard");
    const Prediction p = predict(schedule, scenario.cluster,
                                 {.network_model = scenario.network_model, .solver = {}});
    double first_apply = 1e9, last_decode = 0;
    for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
      const Op& op = schedule.ops[i];
      if (op.work == Work::apply) first_apply = std::min(first_apply, p.timeline[i].start_s);
      if (op.work == Work::decode) last_decode = std::max(last_decode, p.timeline[i].end_s);
    }
    return std::pair(first_apply, last_decode);
  };
  const auto [staged_apply, staged_decode] = timeline("true");
  CHECK(staged_apply >= staged_decode);
  const auto [apply, decode] = timeline("false");
  CHECK(apply < decode);
}

TEST_CASE("delta: in a broadcast of changes every engine rank reads all of them",
          "[planner][delta]") {
  const Scenario scenario =
      parse_scenario(std::string(kFour) + "delta: {change: 1 %, codec: nemo_xor}\n", "s.yaml");
  const Schedule schedule = planned(scenario, "delta_broadcast");
  CHECK(worked(schedule, Work::decode) == 4 * (kExperts + kRouter));
  CHECK(worked(schedule, Work::apply) == 4 * (kExperts / 2 + kRouter));
  const double full =
      traffic_totals(planned(scenario, "gather_broadcast"), scenario.cluster).network_bytes;
  const double coded = traffic_totals(schedule, scenario.cluster).network_bytes;
  const double share = 0.01 * bytes_per_change(Codec::nemo_xor, 0.01) / 2;
  CHECK(coded == Approx(share * full).epsilon(1e-3));
}

TEST_CASE("delta: rates go by role, pattern and learning rate", "[planner][delta]") {
  const auto shares = [](const std::string& change) {
    const Scenario scenario =
        parse_scenario(std::string(kFour) + "delta: {change: " + change + "}\n", "s.yaml");
    return scenario.plan.delta->shares;
  };
  const auto share = [](double p) { return p * bytes_per_change(Codec::rice, p) / 2; };
  CHECK(shares("2 %") == std::vector{share(0.02), share(0.02)});
  CHECK(shares("{routed_expert: 0.5 %, rest: 2 %}") == std::vector{share(0.005), share(0.02)});
  CHECK(shares("{routed_expert: 0 %, rest: 2 %}") == std::vector{0.0, share(0.02)});
  // A pattern is more particular than a role.
  CHECK(shares("{'rou*': 1 %, router: 5 %, rest: 2 %}") == std::vector{share(0.02), share(0.01)});
  const std::vector<double> learned = shares("{learning_rate: 1e-6}");
  CHECK(learned[0] > share(0.008));  // 0.8 % to 1.2 % are published for this rate
  CHECK(learned[0] < share(0.012));
  CHECK(learned[0] == learned[1]);
}

TEST_CASE(
    "delta: the more has changed, the longer it takes, and all of it as long as whole weights",
    "[planner][delta]") {
  // Enough weights for bytes to count beside the fixed start; one object at a time, as several that
  // end at one moment would leave the store's readers idle, in plans whose objects are all ready at
  // the start more than in others.
  const std::string text = std::string(R"(
scenario: two hosts and a store
cluster:
  groups: [{catalog: dgx_h100, nodes: 2}]
  stores:
    - {name: s3, bandwidth: 100 Gbit/s, per_connection: 88 MB/s, connections: 25, request_latency: 30 ms,
       part: 8 MiB}
plan: {in_flight: 1}
tensors:
  - name: experts
    shape: [4096, 2048]
    count: 900
    dtype: bf16
    role: routed_expert
    source: {ranks: 0..1, placements: [shard(0)]}
    destination: {ranks: 8..11, mesh: {engine: 2, tensor: 2}, placements: [replicate, shard(1)]}
)") + GENERATE("delta: {change: 1 %}\n",
               "delta: {change: 1 %, codec: nemo_overwrite, place: host}\n",
               "delta: {change: 1 %, codec: conditioned, staged: false}\n");
  struct Road {
    const char *whole, *changes;
    double slack = 1e-9;
  };
  const Road roads[] = {
      {"optimal", "delta_reshard"},
      {"gather_broadcast", "delta_broadcast"},
      {"object_store", "delta_object_store", 0.1},  // objects wait 30 ms, in turns
      {"relay_tree", "delta_relay_tree"}};
  Scenario scenario = parse_scenario(text, "s.yaml");
  const PredictOptions options{scenario.network_model, {}};
  const auto seconds = [&](const char* strategy) {
    const Schedule schedule =
        plan(scenario.refit, scenario.cluster, named_policy(strategy), scenario.plan);
    return predict(schedule, scenario.cluster, options).makespan_s;
  };
  for (const auto& [whole, changes, slack] : roads) {
    const double whole_s = seconds(whole);
    double before_s = 0;
    int crossings = 0;
    for (const double changed : {0.0, 0.01, 0.1, 0.4, 0.8, 1.0}) {
      set_change_rate(scenario.refit, changed, *scenario.plan.delta);
      const double changes_s = seconds(changes);
      CAPTURE(text, changes, changed, before_s, changes_s, whole_s);
      CHECK(changes_s >= before_s * (1 - slack));
      crossings += before_s < whole_s && changes_s >= whole_s ? 1 : 0;
      before_s = changes_s;
    }
    CHECK(before_s >= whole_s);
    CHECK(crossings == 1);
  }
}

TEST_CASE("delta: bytes of a change are given, or follow from the elements", "[planner][delta]") {
  const Scenario given = parse_scenario(
      std::string(kFour) + "delta: {change: 3 %, bytes_per_change: 1.51}\n", "s.yaml");
  CHECK(given.plan.delta->shares == std::vector{0.03 * 1.51 / 2, 0.03 * 1.51 / 2});
  const auto bytes = [](Codec codec, Dtype dtype) {
    return coded_share(codec, 0.01, dtype) * bytes_per_element(dtype) / 0.01;
  };
  // Differences count values in between, whatever a value's bits are.
  const double rice = bytes_per_change(Codec::rice, 0.01);
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f8_e4m3, Dtype::f8_e5m2})
    CHECK(bytes(Codec::rice, dtype) == Approx(rice));
  // New values do not: FP8 E4M3 has a fraction of 3 bits instead of 7, fp32 of 23.
  const double overwrite = bytes_per_change(Codec::nemo_overwrite, 0.01);
  CHECK(bytes(Codec::nemo_overwrite, Dtype::f8_e4m3) == Approx(overwrite - 0.5));
  CHECK(bytes(Codec::nemo_overwrite, Dtype::f32) == Approx(overwrite + 2));
  // Exponents are where BF16 has them.
  CHECK(bytes(Codec::conditioned, Dtype::bf16) < rice);
  CHECK(bytes(Codec::conditioned, Dtype::f8_e4m3) == Approx(rice));
  // Two MXFP4 weights a byte, or a scale: a place (8.08 bits at 1 %) and a new byte.
  CHECK(bytes(Codec::rice, Dtype::u8) == Approx(8.08 / 8 + 1).epsilon(1e-3));
  CHECK(bytes(Codec::rice, Dtype::f8_e8m0) == bytes(Codec::rice, Dtype::u8));
  // Where all change nothing is saved.
  for (const Codec codec : codecs()) CHECK(coded_share(codec, 1, Dtype::f32) == 1);
}

TEST_CASE("delta: each change takes its time to code", "[planner][delta]") {
  NetworkModel model;
  model.delta_scan_bytes_per_s = 10e9;
  model.delta_encode_bytes_per_s = 20e9;
  model.delta_decode_bytes_per_s = 40e9;
  Coding coding{Codec::rice, CodingPlace::host, 1, true, 0};
  CHECK(coding_rates(coding, model).encode_bytes_per_s == 0);  // there is nothing to do
  coding.changes_per_byte = 0.05;                              // 10 % of BF16, 5 % of FP8
  CHECK(coding_rates(coding, model).scan_bytes_per_s == 10e9);
  CHECK(coding_rates(coding, model).encode_bytes_per_s == Approx(2e9));
  CHECK(coding_rates(coding, model).decode_bytes_per_s == Approx(4e9));
}

TEST_CASE("delta: plans that send weights as they are stay what they were", "[planner][delta]") {
  const std::string folder = REFIT_SOURCE_DIR "/scenarios/small/";
  const auto hash = [&](const char* file, const char* strategy) {
    const Scenario s = load_scenario(folder + file);
    return plan_hash(plan(s.refit, s.cluster, named_policy(strategy), s.plan));
  };
  CHECK(hash("moe_two_racks.yaml", "reshard") == "0be4256fcdffc9fe");
  CHECK(hash("moe_two_racks.yaml", "optimal") == "980638b87f954126");
  CHECK(hash("moe_two_racks.yaml", "gather_broadcast") == "28330a8d9345ad47");
  CHECK(hash("fp8_blockwise.yaml", "optimal") == "f9856d81fd118a47");
}

TEST_CASE("delta: without a word on changes there is nothing to plan by", "[planner][delta]") {
  const Scenario scenario = parse_scenario(kFour, "s.yaml");
  CHECK_THROWS_WITH(
      plan(scenario.refit, scenario.cluster, named_policy("delta_reshard"), scenario.plan),
      "delta_reshard sends what has changed, but the scenario has no `delta` that says how much "
      "that is");
}

}  // namespace refit
