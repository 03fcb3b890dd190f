#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/parcels.h"
#include "topology/cluster.h"

namespace refit {

// One cut that every correct plan must carry bytes through: time >= bytes / rate.
struct Cut {
  std::string name;  // "domain 3 ingress", "rank 5 ingress (NIC + NVLink)", "sources' egress"
  double bytes = 0;
  double bytes_per_s = 0;
  double seconds() const { return bytes / bytes_per_s; }
};

// The closed-form lower bound of any correct plan, whatever relays it uses (docs/lower_bound.md):
// per domain ingress, per source egress, per GPU ingress over NIC and NVLink, trunks and WAN.
struct LowerBound {
  double seconds = 0;
  Cut binding;             // the cut that gives it
  std::vector<Cut> kinds;  // the largest cut of each kind
};

LowerBound lower_bound(const std::vector<Parcel>& parcels, const Cluster& cluster);

}  // namespace refit
