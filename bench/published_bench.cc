// From a published scenario's file to every strategy's prediction: seconds and memory of each step.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "bench/steps.h"

int main() {
  using namespace refit;
  using namespace refit::bench;
  print_steps_header();
  for (const char* file :
       {"qwen3_235b_h100", "deepseek_v3_h100", "deepseek_v3_gb200", "nemotron_ultra_gb200",
        "qwen3_8_2_4t", "m2n_qwen3_235b_gb200", "m2n_deepseek_v3_gb200", "kimi_k3"}) {
    const std::string path =
        std::string(REFIT_SOURCE_DIR) + "/scenarios/published/" + file + ".yaml";
    double wall = 0, cpu = 0, peak = 0;
    for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid"}) {
      const Measured m = print_steps_row(file, strategy, [&] { return load_scenario(path); });
      wall += m.seconds;
      cpu += m.cpu_s;
      peak = std::max(peak, m.peak_mib);
    }
    fmt::print("{:22} {:17} {:60} {:7.2f} {:7.2f} {:8.0f}\n", file, "all four, in turn", "", wall,
               cpu, peak);
  }
}
