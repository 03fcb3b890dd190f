#pragma once

#include <cstdint>
#include <vector>

#include "models/parcels.h"
#include "sim/domain_classes.h"
#include "topology/cluster.h"

namespace refit {

// Of a content, the part that comes in at this rank's own NIC.
struct NicShare {
  Rank rank;
  double handed = 0;  // and that it then hands to others of its island
  double kept = 0;    // for itself only: others get it some other way
};

// A bound for refits that NVLink takes longer for than NICs would: what a rank lacks comes in by
// its NVLink port or its own NIC, and what only it has in its domain leaves it likewise, so that
// NICs have to bring in what is there already (docs/lower_bound.md).
struct NvlinkBound {
  double seconds = 0;  // at least what was given
  // A solution with the fewest such bytes. By pair of owners and demanders, in the order of their
  // first parcel; ranks only of domains where NVLink is full. Empty if there is none.
  std::vector<std::vector<NicShare>> nic_shares;
};

// `seconds` is a bound from elsewhere.
NvlinkBound nvlink_bound(const std::vector<Parcel>& parcels, const Cluster& cluster,
                         const DomainClasses& view, double seconds);

}  // namespace refit
