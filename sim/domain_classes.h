#pragma once

#include <vector>

#include "models/parcels.h"
#include "topology/cluster.h"

namespace refit {

// A refit as the network sees it. Islands (NVLink domains; those that share a node's PCIe are one)
// are what NICs lead out of; all content with the same islands that own it and the same islands
// that need it is one class, however many ranks and tensors it spans.
struct DomainClasses {
  struct Class {
    std::vector<int> owners;   // islands, ascending
    std::vector<int> needers;  // islands that demand it and own none of it, ascending
    double bytes = 0;

    friend bool operator==(const Class&, const Class&) = default;
  };
  std::vector<Class> classes;
  std::vector<int> of_parcel;

  int islands = 0;
  std::vector<int> of_rank;                             // island
  std::vector<double> in_bytes_per_s, out_bytes_per_s;  // by island, over its NICs
  // Islands behind the same leaf trunks (or WAN) are a pod; -1: the island has no trunk.
  std::vector<int> pod;
  std::vector<double> pod_in_bytes_per_s, pod_out_bytes_per_s;
};

DomainClasses domain_classes(const std::vector<Parcel>& parcels, const Cluster& cluster);

}  // namespace refit
