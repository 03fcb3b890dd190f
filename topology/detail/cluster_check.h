#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topology/cluster.h"

namespace refit::detail {

// Past these a cluster is a typing error, and building it would only cost memory.
constexpr std::int64_t kMostGpus = 1'000'000;
constexpr int kMostGpusPerNode = 1024;
constexpr int kMostNicsPerNode = 1024;
constexpr int kMostSites = 100;  // WAN links are looked up in a table of site pairs
constexpr double kMostBytesPerSecond = 1e18;
constexpr double kMostOversubscription = 1000;
constexpr int kMostSpines = 1024;
constexpr std::size_t kMostStores = 100;
constexpr int kMostConnections = 10'000;
constexpr std::int64_t kMostCables = 1 << 20;  // leaves times spines

// What does not add up in a cluster: which part, which key of it (as YAML spells it), and why. The
// constructor of Cluster turns it into an Error; the YAML reader puts file, line and column before
// it.
struct ClusterFault {
  enum class Part { cluster, group, site, fabric, wan, store };
  Part part = Part::cluster;
  std::size_t index = 0;  // of the group, site, fabric, WAN link or store
  std::string key;        // "nics_per_node"; empty if the part as a whole is meant
  std::string message;
};

// The first fault in reading order, or nothing.
std::optional<ClusterFault> find_fault(const ClusterSpec& spec);

// "cluster: group 1 (dgx_h100): nics_per_node: ...".
std::string describe(const ClusterFault& fault, const ClusterSpec& spec);

}  // namespace refit::detail
