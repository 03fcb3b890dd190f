#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/cluster.h"
#include "topology/import/fabric_shape.h"
#include "topology/import/node_shape.h"

namespace refit {

// What people add to their files; it stands over what a file says.
struct ClusterAnswers {
  std::optional<int> nodes, gpus_per_node, nics_per_node, nvlink_domain_gpus;
  std::optional<double> nic_bytes_per_s, nvlink_bytes_per_s, pcie_bytes_per_s;
  std::optional<double> gpu_memory_bytes;
  std::map<std::string, double> distance_bytes_per_s;  // "SYS"
  std::optional<std::string> catalog;                  // for all that nobody else says
};

// What files about one cluster say together.
struct ClusterFiles {
  std::vector<NodeShape> hosts;  // one for all nodes, or each of them
  bool joined_hosts = false;     // by NVLink
  bool is_pcie_view = false;     // of `nvidia-smi topo -mp`, which hides NVLink
  std::optional<FabricShape> fabric;
  std::vector<std::string> facts;  // what was read, for people
  ImportNotes notes;
  AssumptionNotes assumed;
};

enum class Names { drop, keep };  // of NICs and switches, in the facts

// Error(bad_input) if the text is nothing about machines, or stands beside another file of its
// kind.
void add_cluster_file(const std::string& text, const std::string& name, ClusterFiles& files,
                      Names names = Names::drop);

struct MissingAnswer {
  std::string option;  // "--nic-bandwidth RATE"
  std::string why;
};

struct ImportedCluster {
  ClusterSpec spec;                    // whole only if nothing is missing
  std::vector<MissingAnswer> missing;  // nothing is guessed
  std::vector<std::string> facts;
  ImportNotes notes;  // what was left out, or is not as the file says
  std::vector<std::pair<std::string, std::string>> sources;  // key of the first group -> where from
};

// Error(bad_input) if files and answers contradict each other.
ImportedCluster import_cluster(const ClusterFiles& files, const ClusterAnswers& answers);

// The `cluster:` of a scenario, with where each number is from; reads back as the same spec.
std::string cluster_text(const ImportedCluster& cluster);

}  // namespace refit
