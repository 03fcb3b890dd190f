// From a scenario file to every strategy's prediction: seconds and memory of each step.
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "bench/measured_child.h"
#include "models/parcels.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"
#include "sim/lower_bound.h"
#include "sim/predict.h"
#include "sim/traffic.h"

namespace refit::bench {
namespace {

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::string one(const std::string& file, const char* strategy) {
  Clock clock;
  const Scenario s =
      load_scenario(std::string(REFIT_SOURCE_DIR) + "/scenarios/published/" + file + ".yaml");
  const double load = clock.lap();
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
  const double planned = clock.lap();
  const bool good = verify(schedule, s.refit).empty();
  const double verified = clock.lap();
  traffic_totals(schedule, s.cluster);
  lower_bound(schedule.parcels, s.cluster);
  const double counted = clock.lap();
  predict(schedule, s.cluster, {s.network_model, {}});
  return fmt::format("{:9} {:8} {:7.3f} {:7.3f} {:7.3f} {:7.3f} {:8.3f}{}", schedule.ops.size(),
                     schedule.parcels.size(), load, planned, verified, counted, clock.lap(),
                     good ? "" : "  NOT VERIFIED");
}

}  // namespace
}  // namespace refit::bench

int main() {
  using namespace refit::bench;
  fmt::print("{:22} {:17} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8}\n",
             "scenario", "strategy", "ops", "parcels", "load s", "plan s", "verify", "count s",
             "predict", "wall s", "cpu s", "peak MiB");
  for (const char* file :
       {"qwen3_235b_h100", "deepseek_v3_h100", "deepseek_v3_gb200", "nemotron_ultra_gb200",
        "qwen3_8_2_4t", "m2n_qwen3_235b_gb200", "m2n_deepseek_v3_gb200", "kimi_k3"}) {
    double wall = 0, cpu = 0, peak = 0;
    for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid"}) {
      const Measured m = measured_child([&] { return one(file, strategy); });
      fmt::print("{:22} {:17} {} {:7.2f} {:7.2f} {:8.0f}\n", file, strategy, m.text, m.seconds,
                 m.cpu_s, m.peak_mib);
      wall += m.seconds;
      cpu += m.cpu_s;
      peak = std::max(peak, m.peak_mib);
    }
    fmt::print("{:22} {:17} {:60} {:7.2f} {:7.2f} {:8.0f}\n", file, "all four, in turn", "", wall,
               cpu, peak);
  }
}
