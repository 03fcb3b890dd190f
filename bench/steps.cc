#include "bench/steps.h"

#include <chrono>

#include <fmt/format.h>

#include "models/parcels.h"
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

std::string steps(const char* strategy, const std::function<Scenario()>& load) {
  Clock clock;
  const Scenario s = load();
  const double loaded = clock.lap();
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
  const double planned = clock.lap();
  const bool good = verify(schedule, s.refit).empty();
  const double verified = clock.lap();
  traffic_totals(schedule, s.cluster);
  lower_bound(schedule.parcels, s.cluster);
  const double counted = clock.lap();
  predict(schedule, s.cluster, {s.network_model, {}});
  return fmt::format("{:9} {:8} {:7.3f} {:7.3f} {:7.3f} {:7.3f} {:8.3f}{}", schedule.ops.size(),
                     schedule.parcels.size(), loaded, planned, verified, counted, clock.lap(),
                     good ? "" : "  NOT VERIFIED");
}

}  // namespace

void print_steps_header() {
  fmt::print("{:22} {:17} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8}\n",
             "scenario", "strategy", "ops", "parcels", "load s", "plan s", "verify", "count s",
             "predict", "wall s", "cpu s", "peak MiB");
}

Measured print_steps_row(const std::string& name, const char* strategy,
                         const std::function<Scenario()>& load) {
  const Measured m = measured_child([&] { return steps(strategy, load); });
  fmt::print("{:22} {:17} {} {:7.2f} {:7.2f} {:8.0f}\n", name, strategy, m.text, m.seconds, m.cpu_s,
             m.peak_mib);
  return m;
}

}  // namespace refit::bench
