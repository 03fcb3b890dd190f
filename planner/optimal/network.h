#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/id.h"
#include "sim/domain_classes.h"
#include "topology/cluster.h"

namespace refit {

// The cluster as the planner of optimal schedules sees it. A port is one direction of a NIC (ranks
// may share one); it serves some transfers at a time, so that a fast port is kept busy by several
// slow ones. An island is what only NICs lead out of. Trunks lie between pods of islands.
struct PlanNetwork {
  // Transfers inside a pod and those that cross trunks have places of their own at each port: the
  // second kind shares a trunk and is slow, and what is left of the port is for the first.
  enum Way : std::size_t { inside, crossing, ways };
  struct Port {
    double bytes_per_s = 0;
    std::array<int, ways> slots{1, 1};
  };
  std::vector<Port> send_ports, receive_ports;
  std::vector<int> send_port, receive_port;  // by rank
  std::vector<int> island;                   // by rank
  std::vector<std::vector<Rank>> island_ranks;
  std::vector<int> rail;                   // by rank
  std::vector<double> nvlink_bytes_per_s;  // by rank: its way to others of its island

  // Out of and into each pod; they have no slots. Empty if no trunk limits anything.
  std::vector<Port> trunks_out, trunks_in;
  std::vector<int> pod;           // by rank
  double crossing_latency_s = 0;  // the longest of WAN links

  bool has_trunks() const { return !trunks_out.empty(); }
  Way way(Rank src, Rank dst) const {
    return has_trunks() && pod[src.index()] != pod[dst.index()] ? crossing : inside;
  }
  int ranks() const { return static_cast<int>(send_port.size()); }
};

// How many transfers at the slowest port's rate fill one of this rate.
int places(double bytes_per_s, double slowest_bytes_per_s);

// `view` is of the same cluster, whatever its classes.
PlanNetwork plan_network(const Cluster& cluster, const DomainClasses& view);

}  // namespace refit
