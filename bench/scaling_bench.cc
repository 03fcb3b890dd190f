// Time and memory against ranks: DeepSeek-V3, half of the GPUs train (PP2 EP16, replicas grow),
// half generate (engines of TP8, their number grows). The exponent is that of a least-squares line
// in log-log.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/exponent.h"
#include "bench/measured_child.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"
#include "sim/predict.h"

namespace refit::bench {
namespace {

std::string scenario(int ranks) {
  return fmt::format(R"(scenario: scaling
cluster: {{catalog: dgx_h100, nodes: {}}}
model: deepseek-v3
training: {{engine: megatron, gpus: {}, pipeline: 2, expert: 16, expert_tensor: 1, stage_layers: [31, 30]}}
generation: {{engine: vllm, gpus: {}, tensor: 8}}
)",
                     ranks / 8, ranks / 2, ranks / 2);
}

std::string one(int ranks, const char* strategy) {
  const Scenario s = parse_scenario(scenario(ranks), "scaling.yaml");
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
  if (!verify(schedule, s.refit).empty()) return "NOT VERIFIED";
  const Prediction prediction = predict(schedule, s.cluster, {s.network_model, {}});
  return fmt::format("{:9} ops, predicted {:6.2f} s", schedule.ops.size(), prediction.makespan_s);
}

}  // namespace
}  // namespace refit::bench

int main() {
  using namespace refit::bench;
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
    std::vector<std::pair<double, double>> cpu, memory;
    fmt::print("{}\n{:>8} {:>9} {:>9}\n", strategy, "ranks", "cpu s", "peak MiB");
    for (int ranks = 64; ranks <= 4096; ranks *= 2) {
      const Measured m = measured_child([&] { return one(ranks, strategy); });
      fmt::print("{:8} {:9.3f} {:9.1f}  {}\n", ranks, m.cpu_s, m.peak_mib, m.text);
      if (ranks >= 256) {  // below, start-up costs more than the work
        cpu.emplace_back(ranks, m.cpu_s);
        memory.emplace_back(ranks, m.peak_mib);
      }
    }
    fmt::print("exponent from 256 ranks: time {:.2f}, memory {:.2f}\n\n", exponent(cpu),
               exponent(memory));
  }
}
