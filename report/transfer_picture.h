#pragma once

#include <cstddef>
#include <vector>

#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// Who sends to whom at one level of detail: the pairs with the most bytes, the most first.
struct TransferPairs {
  struct Pair {
    int from = 0, to = 0;
    double bytes = 0;
  };
  std::vector<Pair> pairs;
  std::size_t left_out = 0;  // pairs with fewer bytes than these
  double left_out_bytes = 0;
};

// The transfers of a plan at three levels: groups of neighbouring NVLink domains, all pairs of
// them; domains; ranks. What collectives move between domains is counted at the first two.
struct TransferPicture {
  int domains_per_group = 1;
  TransferPairs groups, domains, ranks;
  std::vector<double> inside;  // bytes that stay in a domain, by domain
};

inline constexpr int kMostGroups = 32;
inline constexpr std::size_t kMostDomainPairs = 2000;
inline constexpr std::size_t kMostRankPairs = 2000;

// `domain_bytes`: row-major (sim/traffic.h).
TransferPicture transfer_picture(const Schedule& schedule, const Cluster& cluster,
                                 const std::vector<double>& domain_bytes);

}  // namespace refit
