#pragma once

#include <string>
#include <vector>

#include "executor/lab.h"
#include "topology/cluster.h"

namespace refit::detail {

// What ip and tc are told, namespace by namespace, to make a cluster.
struct LabPlan {
  std::string switches;                   // ip, in the core: bridges, and the trunks between them
  std::vector<std::string> rank_links;    // ip, in each rank: its links and addresses
  std::string ports;                      // ip, in the core: the ranks' far ends into their bridges
  std::string core_shapers;               // tc, in the core
  std::vector<std::string> rank_shapers;  // tc, in each rank
};

// `options.queue_bytes` is set. Error(bad_input) says which link cannot be emulated and why.
LabPlan plan_lab(const Cluster& cluster, const LabOptions& options);

std::string nic_address(Rank rank);
std::string nvlink_address(Rank rank);

}  // namespace refit::detail
