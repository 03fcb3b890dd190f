#pragma once

#include <string>
#include <vector>

#include "models/parcels.h"
#include "sim/domain_classes.h"
#include "sim/lower_bound.h"
#include "topology/cluster.h"

namespace refit {

// Of a content, the part that comes in at this rank's own NIC.
struct NicShare {
  Rank rank;
  double handed = 0;  // and that it then hands to others of its island
  double kept = 0;    // for itself only: others get it some other way
};

// The proven least time of any correct plan on these links (docs/lower_bound.md): the closed-form
// cuts, and a linear program over "how many bytes of each class leave each island", which also
// knows what relays can and can't do.
struct FlowBound {
  double seconds = 0;           // owners and demanders may send
  double no_relay_seconds = 0;  // only owners may
  std::string binding;          // the cut, or "egress of all islands together (linear program)"
  LowerBound cuts;
  // By class, by its owners: the share of the class that first leaves each owner island in a plan
  // that makes the most loaded one leave least. Sums to 1; empty for classes nobody needs outside.
  std::vector<std::vector<double>> first_copy_shares;
  // What NICs bring into domains whose NVLink is full, in a solution with few such bytes. By pair
  // of owners and demanders, in the order of their first parcel; empty if no domain is full.
  std::vector<std::vector<NicShare>> nic_shares;
};

struct FlowBoundOptions {
  bool orbits = true;  // solve for one of each set of symmetric islands and classes
};

// `view` is domain_classes(parcels, cluster), for who has it already.
FlowBound flow_bound(const std::vector<Parcel>& parcels, const Cluster& cluster,
                     const DomainClasses& view, const FlowBoundOptions& options = {});
FlowBound flow_bound(const std::vector<Parcel>& parcels, const Cluster& cluster,
                     const FlowBoundOptions& options = {});

}  // namespace refit
