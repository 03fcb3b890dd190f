#include "planner/optimal/share_trunks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

namespace refit {
namespace {

constexpr double kMostRatio = 4;
constexpr int kMostSlots = 32;

double slowest_nic(const PlanNetwork& network) {
  double slowest = std::numeric_limits<double>::infinity();
  for (const PlanNetwork::Port& port : network.send_ports)
    slowest = std::min(slowest, port.bytes_per_s);
  return slowest;
}

// So many that senders or receivers with the slowest NICs can make up the rate.
int slots_for(double parts) {
  return std::clamp(static_cast<int>(std::ceil(parts - 0.25)), 1, kMostSlots);
}

// A port's share of its pod's trunk may be far less than its rate: more places would only let it
// hold up more receivers.
void set_send_slots(const Assignment& assignment, double seconds, const TrunkPlaces& places,
                    PlanNetwork& network) {
  std::vector<double> nics(network.trunks_out.size(), 0);
  std::vector<int> pod_of_port(network.send_ports.size(), -1);
  for (std::size_t r = 0; r < network.pod.size(); ++r)
    pod_of_port[static_cast<std::size_t>(network.send_port[r])] = network.pod[r];
  for (std::size_t p = 0; p < pod_of_port.size(); ++p) {
    if (pod_of_port[p] >= 0)
      nics[static_cast<std::size_t>(pod_of_port[p])] += network.send_ports[p].bytes_per_s;
  }
  const double slowest = slowest_nic(network);
  for (std::size_t p = 0; p < pod_of_port.size(); ++p) {
    if (pod_of_port[p] < 0) continue;
    const auto pod = static_cast<std::size_t>(pod_of_port[p]);
    PlanNetwork::Port& port = network.send_ports[p];
    const double fair = std::min(1.0, network.trunks_out[pod].bytes_per_s / nics[pod]);
    const double meant = assignment.sent_s[p] / seconds;
    port.slots[PlanNetwork::crossing] = slots_for(
        places.crossing * port.bytes_per_s * std::max(places.equal_part * fair, meant) / slowest);
  }
}

// Places in proportion to the bytes that will come each way, so that sharing alone lets all ports
// of a pod end together.
void set_receive_slots(const std::vector<Content>& contents, const Assignment& assignment,
                       double seconds, const TrunkPlaces& places, PlanNetwork& network) {
  // Of a chunk's entries into islands of a pod that does not own it, one crosses the trunk.
  std::vector<std::array<double, PlanNetwork::ways>> bytes(network.receive_ports.size(), {0, 0});
  std::vector<int> pod_of_port(network.receive_ports.size(), kNobody);
  std::vector<std::set<int>> owning;
  for (const Content& content : contents) {
    owning.emplace_back();
    for (const Rank owner : *content.owners) owning.back().insert(network.pod[owner.index()]);
  }
  std::map<int, int> entries;
  for (const PlanChunk& chunk : assignment.chunks) {
    const std::span deliveries(assignment.deliveries.data() + chunk.first, chunk.end - chunk.first);
    entries.clear();
    for (const PlanDelivery& d : deliveries)
      ++entries[network.pod[static_cast<std::size_t>(d.entry)]];
    for (const PlanDelivery& d : deliveries) {
      const auto rank = static_cast<std::size_t>(d.entry);
      const int pod = network.pod[rank];
      const auto port = static_cast<std::size_t>(network.receive_port[rank]);
      pod_of_port[port] = pod;
      const bool owned = owning[static_cast<std::size_t>(chunk.content)].contains(pod);
      const double crosses = owned ? 0 : 1.0 / entries[pod];
      bytes[port][PlanNetwork::crossing] += crosses * chunk.bytes;
      bytes[port][PlanNetwork::inside] += (1 - crosses) * chunk.bytes;
    }
  }
  std::map<int, std::vector<std::size_t>> ports_of_pod;
  for (std::size_t p = 0; p < bytes.size(); ++p) {
    if (pod_of_port[p] != kNobody) ports_of_pod[pod_of_port[p]].push_back(p);
  }
  const std::array<int, PlanNetwork::ways> times{places.inside, places.crossing};
  for (const auto& [pod, ports] : ports_of_pod) {
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (const std::size_t p : ports) most = std::max({most, bytes[p][0], bytes[p][1]});
    for (const std::size_t p : ports) {
      for (const double b : bytes[p]) {
        if (b * kMostRatio >= most) least = std::min(least, b);  // the rest is next to nothing
      }
    }
    // So many places that senders with the slowest NICs can fill what the port needs.
    const double unit = std::min(least, slowest_nic(network) * seconds);
    for (const std::size_t p : ports) {
      for (std::size_t way = 0; way < PlanNetwork::ways; ++way) {
        network.receive_ports[p].slots[way] = slots_for(times[way] * bytes[p][way] / unit);
      }
    }
  }
}

}  // namespace

void share_trunks(const std::vector<Content>& contents, const Assignment& assignment,
                  double seconds, const TrunkPlaces& places, PlanNetwork& network) {
  set_receive_slots(contents, assignment, seconds, places, network);
  for (PlanNetwork::Port& port : network.send_ports) {
    port.slots[PlanNetwork::inside] *= places.inside;
    port.slots[PlanNetwork::crossing] *= places.crossing;
  }
  if (places.shared_sends) set_send_slots(assignment, seconds, places, network);
}

}  // namespace refit
