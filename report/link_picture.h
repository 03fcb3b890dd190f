#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/prediction.h"
#include "topology/cluster.h"

namespace refit {

// Links of one kind by how much of their line rate the plan uses; bin i of n holds utilisations
// from i/n on, the last those of 1, too.
struct LinkHistogram {
  LinkKind kind = LinkKind::nvlink;
  std::int64_t unused = 0;  // no byte crosses them
  std::vector<std::int64_t> links;
};

// Bytes through the ports of one rank. What a NIC that several ranks share carries is divided
// evenly among them.
struct RankPorts {
  double nvlink_in = 0, nvlink_out = 0, nic_in = 0, nic_out = 0;
};

// How evenly a plan loads the machines, in bounded size but for four numbers per rank.
struct LinkPicture {
  std::vector<LinkHistogram> kinds;  // in the order of LinkKind, those the cluster has
  std::vector<LinkLoad> hottest;     // by utilisation, the highest first
  std::vector<RankPorts> ranks;
};

inline constexpr std::size_t kUtilisationBins = 20;
inline constexpr std::size_t kHottestLinks = 16;

// `ranks`: those of the refit, from 0 on.
LinkPicture link_picture(const Cluster& cluster, int ranks, const Prediction& prediction);

}  // namespace refit
