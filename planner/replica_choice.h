#pragma once

#include <vector>

#include "models/parcels.h"
#include "planner/plan.h"
#include "topology/cluster.h"

namespace refit {

// One step of a parcel's way. Hop 0 leaves an owner; hop h + 1 leaves a rank that hop h reached.
struct Hop {
  int depth = 0;
  Rank src;
  Rank dst;
};

// The way of one parcel under NCCL M2N's rules: into each NVLink domain once, over chains of
// domains, then to the other demanders of the domain by NVLink (m2n: replica balance, leaders,
// followers).
struct Way {
  std::vector<Hop> network;  // between domains, in chain order
  std::vector<Hop> fanout;   // inside a domain; depth is that of the hop that brought it, plus 1
};

// Where a parcel stands among those that together make one destination shard: M2N spreads the
// source shards of one destination shard over its replicas in a domain.
struct SourcePosition {
  int position = 0;
  int count = 1;
};

// The position of every parcel among those with equal demanders, equally many owners and equal
// group.
std::vector<SourcePosition> source_positions(const std::vector<Parcel>& parcels);

// Deterministic in its arguments. Demanders that own the parcel are left out; a domain with an
// owner inside is fed from there.
Way choose_way(const Parcel& parcel, SourcePosition position, const Cluster& cluster,
               const PlanOptions& options);

// Which owner feeds the i-th of `count` takers (destination replicas or domains).
int balanced_owner(int owners, int takers, int taker, ReplicaBalance balance);

}  // namespace refit
