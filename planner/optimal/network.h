#pragma once

#include <vector>

#include "base/id.h"
#include "sim/domain_classes.h"
#include "topology/cluster.h"

namespace refit {

// The cluster as the planner of optimal schedules sees it. A port is one direction of a NIC (ranks
// may share one); it serves `slots` transfers at a time, so that a fast port is kept busy by
// several slow ones. An island is what only NICs lead out of. Trunks lie between pods of islands.
struct PlanNetwork {
  struct Port {
    double bytes_per_s = 0;
    int slots = 1;
    double slot_rate() const { return bytes_per_s / slots; }
  };
  std::vector<Port> send_ports, receive_ports;
  std::vector<int> send_port, receive_port;  // by rank
  std::vector<int> island;                   // by rank
  std::vector<std::vector<Rank>> island_ranks;
  std::vector<int> rail;  // by rank

  // Empty if no trunk limits anything. Trunks are ports, too: out of and into each pod.
  std::vector<Port> trunks_out, trunks_in;
  std::vector<int> pod;  // by rank

  bool has_trunks() const { return !trunks_out.empty(); }
  int ranks() const { return static_cast<int>(send_port.size()); }
};

// `view` is of the same cluster, whatever its classes.
PlanNetwork plan_network(const Cluster& cluster, const DomainClasses& view);

}  // namespace refit
