#pragma once

#include <vector>

#include "sim/detail/demand.h"
#include "sim/domain_classes.h"
#include "sim/flow_bound.h"
#include "topology/cluster.h"

namespace refit::detail {

// A bound for refits that NVLink takes longer for than NICs would: what a rank lacks comes in by
// its NVLink port or its own NIC, and what only it has in its domain leaves it likewise, so that
// NICs have to bring in what is there already (docs/lower_bound.md).
struct NvlinkBound {
  double seconds = 0;                             // at least what was given
  std::vector<std::vector<NicShare>> nic_shares;  // FlowBound
};

// `demand` is of the parcels that the view is of; `seconds` is a bound from elsewhere.
NvlinkBound nvlink_bound(const Demand& demand, const Cluster& cluster, const DomainClasses& view,
                         double seconds);

}  // namespace refit::detail
