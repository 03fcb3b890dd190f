#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/refit.h"
#include "planner/plan.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit::test {

// One side in NCCL M2N's notation: `replicas` x `shards` of one dim, replica outer unless `sr`.
struct Side {
  int replicas = 1;
  int shards = 1;
  int dim = 0;
  bool sr = false;  // shard outer, replica inner
  Split split = Split::even();
};

// "R x S d -> R x D d, shape, G": sources are ranks 0.., destinations follow. Destinations are in
// NVLink domains of `domain` ranks (the last may be smaller), sources in one domain of their own.
struct M2nCase {
  Side source, destination;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::u8;
  int domain = 1;

  int first_destination() const { return source.replicas * source.shards; }
  int destinations() const { return destination.replicas * destination.shards; }
};

Refit make_refit(const M2nCase& c);
Cluster make_cluster(const M2nCase& c);

// NIC 50 GB/s a GPU, NVLink 450 GB/s, no latency. Domains as given, in rank order; one node each.
Cluster cluster_of_domains(const std::vector<int>& domains, double nic_bytes_per_s = 50e9,
                           double nvlink_bytes_per_s = 450e9);

// Bytes of all transfers, "S0>D3" -> bytes; "D0>D4" between destinations.
std::map<std::string, std::int64_t> flows(const Schedule& schedule, const M2nCase& c);

// Bytes that each destination takes in from other domains, and from its own by NVLink.
std::vector<std::int64_t> network_in(const Schedule& schedule, const Cluster& cluster, int first,
                                     int count);
std::vector<std::int64_t> nvlink_in(const Schedule& schedule, const Cluster& cluster, int first,
                                    int count);
std::vector<std::int64_t> network_out(const Schedule& schedule, const Cluster& cluster, int first,
                                      int count);

}  // namespace refit::test
