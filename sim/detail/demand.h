#pragma once

#include <cstdint>
#include <vector>

#include "models/parcels.h"

namespace refit::detail {

// Parcels by who owns and who demands them, each distinct list of ranks once. A large model has
// tens of thousands of parcels with thousands of demanders each, but few distinct lists.
struct Demand {
  struct Pair {
    std::uint32_t owners = 0;     // index into `lists`
    std::uint32_t demanders = 0;  // index into `lists`
    double bytes = 0;
  };
  std::vector<const std::vector<Rank>*> lists;  // of the parcels, which must outlive this
  std::vector<Pair> pairs;
  std::vector<std::uint32_t> pair_of_parcel;
};

Demand group_demand(const std::vector<Parcel>& parcels);

// What must cross the border of each part of the cluster, whatever the plan.
struct BorderBytes {
  std::vector<double> in;   // by part: demanded inside, owned only outside
  std::vector<double> out;  // by part: owned only inside, demanded outside
};

// `part_of_rank` divides the ranks into `parts` parts.
BorderBytes border_bytes(const Demand& demand, const std::vector<int>& part_of_rank,
                         std::size_t parts);

// Content that some part without an owner demands, and which parts own any of it.
struct LeavingBytes {
  double bytes = 0;
  std::vector<bool> owns;  // by part
};

LeavingBytes leaving_bytes(const Demand& demand, const std::vector<int>& part_of_rank,
                           std::size_t parts);

}  // namespace refit::detail
