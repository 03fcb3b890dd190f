// Time and memory against ranks and against tensors: DeepSeek-V3, half of the GPUs train (PP2 EP16,
// replicas grow), half generate (engines of TP8, their number grows); then the same with more
// layers. The exponent is that of a least-squares line in log-log.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/exponent.h"
#include "bench/measured_child.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"
#include "sim/predict.h"

namespace refit::bench {
namespace {

constexpr const char* kStrategies[] = {"reshard", "direct", "gather_broadcast", "hybrid"};
constexpr int kFirstStageLayers = 31, kSecondStageLayers = 30;

std::string scenario(int ranks, const std::string& model, int times) {
  return fmt::format(R"(scenario: scaling
cluster: {{catalog: dgx_h100, nodes: {}}}
model: {}
training: {{engine: megatron, gpus: {}, pipeline: 2, expert: 16, expert_tensor: 1, stage_layers: [{}, {}]}}
generation: {{engine: vllm, gpus: {}, tensor: 8}}
)",
                     ranks / 8, model, ranks / 2, kFirstStageLayers * times,
                     kSecondStageLayers * times, ranks / 2);
}

// DeepSeek-V3 with so many times the layers, as a file.
class ScaledModel {
 public:
  explicit ScaledModel(int times)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("refit_scaling_bench_{}.json", times)) {
    std::ifstream in(std::string(REFIT_SOURCE_DIR) + "/models/catalog/deepseek-v3.json");
    auto config = nlohmann::json::parse(in);
    config["num_hidden_layers"] = (kFirstStageLayers + kSecondStageLayers) * times;
    std::ofstream(path_) << config;
  }
  ~ScaledModel() { std::filesystem::remove(path_); }
  ScaledModel(const ScaledModel&) = delete;
  ScaledModel& operator=(const ScaledModel&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string one(const std::string& text, const char* strategy) {
  const Scenario s = parse_scenario(text, "scaling.yaml");
  std::size_t tensors = 0;
  for (const TensorClass& c : s.refit.classes) tensors += c.members.size();
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
  if (!verify(schedule, s.refit).empty()) return "NOT VERIFIED";
  const Prediction prediction = predict(schedule, s.cluster, {s.network_model, {}});
  return fmt::format("{:6} tensors {:9} ops, predicted {:6.2f} s", tensors, schedule.ops.size(),
                     prediction.makespan_s);
}

// One column that grows, and what it costs.
class Series {
 public:
  Series(const char* strategy, const char* what) {
    fmt::print("{}\n{:>8} {:>9} {:>9}\n", strategy, what, "cpu s", "peak MiB");
  }
  // `counts`: below, start-up costs more than the work.
  void add(int size, const Measured& m, bool counts) {
    fmt::print("{:8} {:9.3f} {:9.1f}  {}\n", size, m.cpu_s, m.peak_mib, m.text);
    if (!counts) return;
    cpu_.emplace_back(size, m.cpu_s);
    memory_.emplace_back(size, m.peak_mib);
  }
  void print_exponents(const char* from) const {
    fmt::print("exponent{}: time {:.2f}, memory {:.2f}\n\n", from, exponent(cpu_),
               exponent(memory_));
  }

 private:
  std::vector<std::pair<double, double>> cpu_, memory_;
};

void print_ranks(const char* strategy) {
  Series series(strategy, "ranks");
  for (int ranks = 64; ranks <= 16384; ranks *= 2) {
    const std::string text = scenario(ranks, "deepseek-v3", 1);
    series.add(ranks, measured_child([&] { return one(text, strategy); }), ranks >= 256);
  }
  series.print_exponents(" from 256 ranks");
}

void print_layers(const char* strategy) {
  Series series(strategy, "layers x");
  for (const int times : {1, 2, 4, 8}) {
    const ScaledModel model(times);
    const std::string text = scenario(512, model.path(), times);
    series.add(times, measured_child([&] { return one(text, strategy); }), true);
  }
  series.print_exponents("");
}

}  // namespace
}  // namespace refit::bench

int main() {
  using namespace refit::bench;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const char* strategy : kStrategies) print_ranks(strategy);
  fmt::print("More layers, on 512 ranks\n\n");
  for (const char* strategy : kStrategies) print_layers(strategy);
}
