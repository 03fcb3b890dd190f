#include "sweep/size.h"

#include <filesystem>

#include <fmt/format.h>

#include "report/size_words.h"
#include "sweep/evaluate.h"
#include "sweep/sweep_csv.h"
#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

const std::string kHead = "size: pair\nbase:" + kPair + "step: 10 s\nbelow: 5 %\n";

SizeAnswer answer(const std::string& rest) {
  const SizeQuestion question = parse_size(kHead + rest, "z.yaml");
  return answer_of(question, run_sweep(question.sweep, {.workers = 2}));
}

TEST_CASE("size: the slowest NIC that moves 8 GB in half a second", "[sweep]") {
  // 8 GB at 5, 10, 20, 40 GB/s: 1.6, 0.8, 0.4, 0.2 s; 5 % of 10 s are 0.5 s.
  const SizeAnswer a =
      answer("least: {cluster.nic_bandwidth: {from: 40 Gbit/s, to: 320 Gbit/s, times: 2}}\n");
  REQUIRE(a.candidates.size() == 4);
  CHECK(a.most_s() == Approx(0.5));
  CHECK(a.field == "cluster.nic_bandwidth");
  CHECK_FALSE(a.sure);  // wires alone have no band
  REQUIRE(a.likely);
  CHECK(a.candidates[*a.likely].name == "160 Gbit/s");
  CHECK(a.candidates[*a.likely].row.prediction_s == Approx(0.4));
  CHECK(a.candidates[1].verdict == Verdict::impossible);  // 0.8 s is the bound
  CHECK(a.front.empty());
  const std::string text = size_summary(a);
  CHECK(text.find("question     refit below 5 % of a step of 10.00 s: at most 500.00 ms") !=
        std::string::npos);
  CHECK(text.find("no plan can: the bound is above it") != std::string::npos);
}

TEST_CASE("size: the cheapest of a catalog, and the front of cost against time", "[sweep]") {
  const std::string cluster =
      "gpus_per_node: 1, nvlink_domain_gpus: 1, nics_per_node: 1, nodes: 2, nic_bandwidth: ";
  const auto entry = [&](const char* name, int price, const std::string& nic) {
    return fmt::format("  - {{name: {}, price: {}, cluster: {{{}{}}}}}\n", name, price, cluster,
                       nic);
  };
  const SizeAnswer a = answer("strategy: [reshard, direct]\ncatalog:\n" +
                              entry("fast", 900, "320 Gbit/s") + entry("slow", 100, "80 Gbit/s") +
                              entry("fair", 500, "160 Gbit/s") + entry("worse", 700, "80 Gbit/s") +
                              "  - {name: tiny, price: 1, price_once: 5, cluster: {" + cluster +
                              "320 Gbit/s, gpu_memory: 4 GB}}\n");
  REQUIRE(a.likely);
  CHECK(a.candidates[*a.likely].name == "fair");
  CHECK(a.candidates[*a.likely].cost == 1000.0);  // 2 nodes
  CHECK(a.candidates[4].cost == 7.0);
  CHECK(a.candidates[4].verdict == Verdict::unfit);
  std::vector<std::string> front;
  for (const std::size_t i : a.front) front.push_back(a.candidates[i].name);
  CHECK(front == std::vector<std::string>{"slow", "fair", "fast"});
}

TEST_CASE("size: verdicts follow from the band and the bound", "[sweep]") {
  const SizeQuestion question = parse_size(
      kHead + "least: {cluster.nic_bandwidth: [1 Gbit/s, 2 Gbit/s, 3 Gbit/s, 4 Gbit/s, 5 Gbit/s]}",
      "z.yaml");
  SweepTable table = table_of(question.sweep);
  const auto add = [&](double bound_s, double low_s, double predicted_s, double high_s) {
    SweepRow row;
    row.point = static_cast<std::int64_t>(table.rows.size());
    row.outcome = PointOutcome::predicted;
    row.bound_s = bound_s;
    row.prediction_s = predicted_s;
    row.low_s = low_s;
    row.high_s = high_s;
    table.rows.push_back(row);
  };
  add(0.6, 0.6, 0.7, 0.9);
  add(0.1, 0.6, 0.7, 0.9);
  add(0.1, 0.4, 0.6, 0.9);
  add(0.1, 0.3, 0.4, 0.6);
  add(0.1, 0.2, 0.3, 0.4);
  const SizeAnswer a = answer_of(question, table);
  std::vector<Verdict> verdicts;
  for (const SizeCandidate& candidate : a.candidates) verdicts.push_back(candidate.verdict);
  CHECK(verdicts == std::vector<Verdict>{Verdict::impossible, Verdict::no, Verdict::unlikely,
                                         Verdict::likely, Verdict::sure});
  CHECK(a.likely == 3u);
  CHECK(a.sure == 4u);
  const std::string text = size_summary(a);
  CHECK(
      text.find("least that meets it, even at the high end of the band:\n             5 Gbit/s") !=
      std::string::npos);
  CHECK(text.find("least that meets it at the middle of the band only:\n             4 Gbit/s") !=
        std::string::npos);
}

TEST_CASE("size: replicas give the GPUs of generation, and these the nodes", "[sweep]") {
  const std::string text = R"(size: engines
base:
  scenario: engines
  model: qwen3-0.6b
  training: {engine: megatron, gpus: 8, tensor: 2}
  generation: {engine: vllm, gpus: 1, tensor: 4, pipeline: 2}
replicas: 3
step: 10 s
below: 5 %
catalog:
  - {name: single, price: 2, cluster: {catalog: dgx_h100}}
  - {name: pairs, price: 2, nodes_at_a_time: 3, cluster: {catalog: dgx_h100}}
)";
  const SizeQuestion q = parse_size(text, "z.yaml");
  // 8 + 3 x 4 x 2 = 32 GPUs on nodes of 8; whole racks of 3 nodes are 2 racks.
  CHECK(q.candidates.at(0).nodes == 4);
  CHECK(q.candidates.at(0).cost == 8.0);
  CHECK(q.candidates.at(1).nodes == 6);
  CHECK(point_of(q.sweep, 0).scenario->text().find("gpus: 24\n") != std::string::npos);
  const SizeQuestion stricter = parse_size(text, "z.yaml", {.step_s = 20, .below = 0.01});
  CHECK(stricter.step_s * stricter.below == Approx(0.2));
}

TEST_CASE("size: mistakes are named by file, line, column and key", "[sweep]") {
  const auto of = [](const std::string& rest) {
    return error_of([&] { parse_size(kHead + rest, "z.yaml"); });
  };
  CHECK(of("least: {cluster.nodes: [2]}\ncatalog: []\n") ==
        "z.yaml:1:1: has either catalog: clusters with prices, or least: a field and its values, "
        "least first");
  CHECK(of("catalog: []\n") ==
        "z.yaml:20:10: catalog: is empty; list clusters with a name and a "
        "price");
  CHECK(of("catalog: [{name: a, price: -1, cluster: {catalog: dgx_h100, nodes: 1}}]\n") ==
        "z.yaml:20:28: catalog[0].price: must not be negative");
  CHECK(of("catalog: [{name: a, price: 1, cluster: {catalog: dgx_h100}}]\n") ==
        "z.yaml:20:40: catalog[0].cluster: the base has no training.gpus to count nodes by; write "
        "it there, or nodes here");
  CHECK(of("catalog: [{name: a, price: 1, cluster: {catalog: dgx_h1}}]\n").find("z.yaml:20:50: ") ==
        0);
  CHECK(of("replicas: 2\nleast: {cluster.nodes: [2]}\n") ==
        "z.yaml:20:11: replicas: the base's generation is no vllm or sglang engine, which has "
        "replicas");
  // The first that is fast enough is the answer, so the order matters.
  CHECK(
      of("least: {cluster.nic_bandwidth: [400 Gbit/s, 1 Tbit/s, 800 Gbit/s]}\n") ==
      "z.yaml:20:55: least.cluster.nic_bandwidth: 800 Gbit/s does not ask for more than 1 Tbit/s; "
      "list the least first");
  CHECK(of("least: {cluster.nodes: [2, 2]}\n") ==
        "z.yaml:20:28: least.cluster.nodes: 2 does not ask for more than 2; list the least first");
  CHECK(of("least: {cluster.fabric.oversubscription: [1, 2]}\n").find("2 does not ask for more") !=
        std::string::npos);
  CHECK(of("strategy: [reshard, resahrd]\nleast: {cluster.nodes: [2]}\n")
            .find("z.yaml:20:21: strategy: 'resahrd' is neither a strategy") == 0);
  CHECK(of("catalog: [{name: a, price: 1e300, cluster: {catalog: dgx_h100, nodes: 1}}]\n") ==
        "z.yaml:20:28: catalog[0].price: is more than 1000000000000");
  CHECK(of("least: {a: [1], b: [2]}\n") ==
        "z.yaml:20:8: least: names one field and its values, as in {cluster.nic_bandwidth: [200 "
        "Gbit/s, ...]}");
}

TEST_CASE("size: the files that come with the program can be read", "[sweep][scenarios]") {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(REFIT_SOURCE_DIR "/scenarios/sweeps")) {
    const std::string path = entry.path().string();
    CAPTURE(path);
    const bool sizes = entry.path().filename().string().starts_with("size_");
    const Sweep sweep = sizes ? load_size(path).sweep : load_sweep(path);
    CHECK_FALSE(scenario_of(sweep, point_of(sweep, sweep.points() - 1)).name.empty());
    ++files;
  }
  CHECK(files == 4);
  CHECK(load_sweep(REFIT_SOURCE_DIR "/scenarios/sweeps/deepseek_v3_2000.yaml").points() == 2000);
}

}  // namespace
}  // namespace refit::test
