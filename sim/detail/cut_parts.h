#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/cluster.h"

namespace refit::detail {

// The ranks divided into parts, and the rate at which bytes can cross each part's border, over all
// routes that there are. Nothing: something unlimited crosses it, or nothing can, so it is no cut.
struct CutParts {
  std::vector<int> of_rank;
  std::vector<std::string> names;  // "domain 3"
  std::vector<std::optional<double>> in_bytes_per_s;
  std::vector<std::optional<double>> out_bytes_per_s;
  std::string ports;  // what the rates are of: "NIC + NVLink"

  std::size_t parts() const { return names.size(); }
};

CutParts rank_parts(const Cluster& cluster);
CutParts domain_parts(const Cluster& cluster);
// Domains that reach each other by PCIe inside a node count as one: only NICs lead out.
CutParts island_parts(const Cluster& cluster);
// Islands under the same leaf switches: only the leaves' trunks lead out. Empty without trunks.
CutParts leaf_parts(const Cluster& cluster);
CutParts site_parts(const Cluster& cluster);

}  // namespace refit::detail
