#include "executor/detail/lab_shaper.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace refit::detail {
namespace {

std::int64_t burst_bytes(const ShapedPort& port, const LabOptions& options) {
  return std::max<std::int64_t>(options.burst_bytes,
                                static_cast<std::int64_t>(port.bytes_per_s * options.burst_s));
}

std::string one_queue(const ShapedPort& port, const LabOptions& options) {
  return fmt::format("qdisc replace dev {} root tbf rate {:.0f}bps burst {} limit {}\n",
                     port.device, port.bytes_per_s, burst_bytes(port, options),
                     options.queue_bytes);
}

// The root class keeps the rate. Its children are promised almost nothing and may borrow all of it,
// in turns of two packets: that is what shares the rate evenly among the busy ones.
std::string queue_per_peer(const ShapedPort& port, const LabOptions& options) {
  const int packet = options.mtu + 14;
  const int quantum = 2 * packet;
  const double queues = static_cast<double>(port.queues.size());
  const double promised = std::max(1000.0, port.bytes_per_s / (20 * (queues + 1)));
  std::string lines = fmt::format(
      "qdisc replace dev {0} root handle 1: htb default 2 r2q 1\n"
      "class add dev {0} parent 1: classid 1:1 htb rate {1:.0f}bps burst {2} cburst {2} "
      "quantum {3}\n",
      port.device, port.bytes_per_s, burst_bytes(port, options), quantum);
  const auto add_class = [&](std::size_t minor) {
    lines += fmt::format(
        "class add dev {0} parent 1:1 classid 1:{1:x} htb rate {2:.0f}bps ceil {3:.0f}bps "
        "burst {4} cburst {5} quantum {6} prio 0\n"
        "qdisc add dev {0} parent 1:{1:x} bfifo limit {7}\n",
        port.device, minor, promised, port.bytes_per_s, packet, burst_bytes(port, options), quantum,
        options.queue_bytes);
  };
  constexpr std::size_t kRest = 2, kFirst = 16;
  add_class(kRest);  // ARP
  for (std::size_t i = 0; i < port.queues.size(); ++i) {
    add_class(kFirst + i);
    lines +=
        fmt::format("filter add dev {} parent 1: protocol ip prio 1 u32 match {} flowid 1:{:x}\n",
                    port.device, port.queues[i], kFirst + i);
  }
  return lines;
}

}  // namespace

std::string shaper_lines(const ShapedPort& port, const LabOptions& options) {
  return options.fair ? queue_per_peer(port, options) : one_queue(port, options);
}

}  // namespace refit::detail
