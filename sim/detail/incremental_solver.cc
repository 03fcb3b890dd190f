#include "sim/detail/solver.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <simgrid/kernel/resource/Model.hpp>

#include "base/check.h"
#include "sim/detail/engine.h"
#include "sim/detail/flow_run.h"

namespace refit::detail {
namespace {

// The engine asks every model for its next event, moves the clock to the earliest, and calls back.
class FlowModel : public simgrid::kernel::resource::Model {
 public:
  explicit FlowModel(FlowRun& run) : Model("refit_flows"), run_(run) {}

  double next_occurring_event(double now) override {
    const std::optional<double> next = run_.next_event_s();
    return next ? std::max(0.0, *next - now) : -1.0;  // negative: nothing to come, so run() can end
  }

  void update_actions_state(double now, double /*delta*/) override {
    // `now` is a sum of differences, and may lie a digit before the event that it stands for.
    const double until = now + 1e-13 * std::max(1.0, now);
    for (auto next = run_.next_event_s(); next && *next <= until; next = run_.next_event_s()) {
      run_.advance();
    }
  }

 private:
  FlowRun& run_;
};

}  // namespace

Timeline run_incremental(const TaskGraph& graph, bool merge, std::size_t* merged) {
  const auto engine = start_engine();
  // One host, since an engine without a zone has no models to ask.
  auto* zone = simgrid::s4u::create_empty_zone("cluster");
  zone->create_host("gpus", 1.0);
  zone->seal();

  FlowRun run(graph, merge);
  engine->add_model(std::make_shared<FlowModel>(run));
  engine->run();
  REFIT_CHECK(!run.next_event_s());
  if (merged != nullptr) *merged = run.merged();
  return run.timeline();
}

}  // namespace refit::detail
