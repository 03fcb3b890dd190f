#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli11_fwd.h"
#include "topology/import/cluster_import.h"

namespace refit {

// Files about machines, and what people add to them on the command line.
struct ClusterFileOptions {
  std::vector<std::string> files;
  std::optional<int> nodes, gpus_per_node, nics_per_node, nvlink_domain_gpus;
  std::optional<std::string> nic_bandwidth, nvlink_bandwidth, pcie_bandwidth, gpu_memory, catalog;
  std::vector<std::string> distances;  // "SYS=20GB/s"
  bool keep_names = false;
};

// The options that answer what files do not say.
void add_cluster_answers(CLI::App& verb, ClusterFileOptions& options);

// `--nccl-topo FILES` and its answers: the machines of a scenario, from files instead.
void add_cluster_files(CLI::App& verb, ClusterFileOptions& options);

// Error(bad_input) if answers are given and no file that they could complete.
void require_machines(const ClusterFileOptions& options);

// Error(bad_input) with the list of what is missing. Notes go to standard error.
ImportedCluster read_cluster_files(const ClusterFileOptions& options);

// The scenario's text with this cluster instead of its own. Error(bad_input) if it has none at the
// left margin.
std::string with_cluster(const std::string& scenario, const std::string& name,
                         const ImportedCluster& cluster);

}  // namespace refit
