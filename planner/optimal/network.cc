#include "planner/optimal/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace refit {
namespace {

double rate(const Cluster& cluster, LinkId link) {
  return cluster.link(link).bandwidth_bytes_per_s;
}

// Numbers the ports in the order of their first rank. PCIe in front of a NIC may be the narrower.
std::vector<PlanNetwork::Port> number_ports(const Cluster& cluster, bool out,
                                            std::vector<int>& of_rank) {
  std::vector<PlanNetwork::Port> ports;
  std::vector<double> behind;  // PCIe rates of the ranks at the port; infinite where none limits
  std::map<LinkId, int> number;
  for (int r = 0; r < cluster.gpus(); ++r) {
    const Rank rank(r);
    const LinkId nic = out ? cluster.nic_out(rank) : cluster.nic_in(rank);
    const auto [at, is_new] = number.try_emplace(nic, static_cast<int>(ports.size()));
    if (is_new) {
      ports.push_back({rate(cluster, nic), {1, 1}});
      behind.push_back(0);
    }
    of_rank.push_back(at->second);
    const auto pcie = out ? cluster.pcie_out(rank) : cluster.pcie_in(rank);
    behind[static_cast<std::size_t>(at->second)] +=
        pcie ? rate(cluster, *pcie) : std::numeric_limits<double>::infinity();
  }
  for (std::size_t p = 0; p < ports.size(); ++p)
    ports[p].bytes_per_s = std::min(ports[p].bytes_per_s, behind[p]);
  return ports;
}

void set_slots(std::vector<PlanNetwork::Port>& ports, double slowest) {
  for (PlanNetwork::Port& port : ports) port.slots.fill(places(port.bytes_per_s, slowest));
}

// NVLink, or PCIe where there is none.
double rate_inside(const Cluster& cluster, Rank rank) {
  const auto port = cluster.nvlink_out(rank) ? cluster.nvlink_out(rank) : cluster.pcie_out(rank);
  return rate(cluster, port ? *port : cluster.nic_out(rank));
}

}  // namespace

int places(double bytes_per_s, double slowest_bytes_per_s) {
  return std::max(1, static_cast<int>(std::lround(bytes_per_s / slowest_bytes_per_s)));
}

PlanNetwork plan_network(const Cluster& cluster, const DomainClasses& view) {
  PlanNetwork network;
  network.send_ports = number_ports(cluster, true, network.send_port);
  network.receive_ports = number_ports(cluster, false, network.receive_port);
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto* ports : {&network.send_ports, &network.receive_ports}) {
    for (const PlanNetwork::Port& port : *ports) slowest = std::min(slowest, port.bytes_per_s);
  }
  set_slots(network.send_ports, slowest);
  set_slots(network.receive_ports, slowest);

  network.island = view.of_rank;
  network.island_ranks.resize(static_cast<std::size_t>(view.islands));
  for (int r = 0; r < cluster.gpus(); ++r) {
    network.island_ranks[static_cast<std::size_t>(view.of_rank[static_cast<std::size_t>(r)])]
        .push_back(Rank(r));
    network.rail.push_back(cluster.rail(Rank(r)));
    network.nvlink_bytes_per_s.push_back(rate_inside(cluster, Rank(r)));
    network.pod.push_back(
        view.pod[static_cast<std::size_t>(view.of_rank[static_cast<std::size_t>(r)])]);
  }
  for (std::size_t p = 0; p < view.pod_out_bytes_per_s.size(); ++p) {
    network.trunks_out.push_back({view.pod_out_bytes_per_s[p], {1, 1}});
    network.trunks_in.push_back({view.pod_in_bytes_per_s[p], {1, 1}});
  }
  if (network.has_trunks()) {
    for (const WanSpec& wan : cluster.spec().wans)
      network.crossing_latency_s = std::max(network.crossing_latency_s, wan.latency_s);
  }
  return network;
}

}  // namespace refit
