#include "sim/detail/engine.h"

#include <string>

#include <xbt/log.h>

namespace refit::detail {

std::unique_ptr<simgrid::s4u::Engine> start_engine() {
  using simgrid::s4u::Engine;
  auto engine = std::make_unique<Engine>("refit");
  xbt_log_control_set("root.thres:error");  // the settings below are reported otherwise
  // Before the first zone: it freezes the choice of models.
  Engine::set_config("network/model:CM02");      // no factors on latency or bandwidth
  Engine::set_config("network/crosstraffic:0");  // no acknowledgements on the way back
  Engine::set_config("network/TCP-gamma:0");     // no window that bounds a rate
  // Lazy is faster but wrong in 3.32: of two flows that begin to send at one instant from one port,
  // it forgets to slow down whom the second meets elsewhere (docs/network_model.md#native).
  Engine::set_config("network/optim:Full");
  Engine::set_config("surf/precision:1e-12");    // seconds; the default drops up to a nanosecond
  Engine::set_config("maxmin/precision:1e-12");  // of a link's rate
  return engine;
}

}  // namespace refit::detail
