#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/refit.h"
#include "planner/conduct.h"
#include "planner/delta.h"
#include "planner/limits.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

enum class Strategy {
  gather_broadcast,  // gather each tensor in the training group, broadcast it to all generation
                     // ranks
  direct,            // each destination replica gets its overlaps from a source replica
  optimal,           // all owners, all NICs, relays: near the proven bound; of whole refits only
  owner_broadcast,   // whoever owns a shard broadcasts it, whole, to all generation ranks
  reshard,           // NCCL M2N: one copy per NVLink domain, chains between domains, NVLink fan-out
  object_store,      // every payload is put into a store once, each domain reads what it needs
  relay_tree,        // every payload leaves its owner once; receiving domains relay it
  stripe,            // each destination replica gets a stripe from an owner, and they exchange them
};

std::string_view to_string(Strategy strategy);

// Which strategy a tensor takes, and what the system that does it adds.
struct Policy {
  std::string name;
  Strategy rest = Strategy::reshard;  // for roles not named
  std::map<Role, Strategy> roles;
  Conduct conduct = {};
  bool coded = false;  // only what has changed is sent, as PlanOptions::delta says
  // Weights of multi-token-prediction modules take `rest`, whatever their role, and so do scales.
  Strategy of(const TensorClass& tensor_class) const;
};

// "gather_broadcast", "direct", "reshard": all roles alike. "hybrid" is NeMo RL's rule: routed
// experts and dense feed-forward by reshard, the rest by gather_broadcast. "delta_broadcast" and
// "delta_reshard" are gather_broadcast and optimal, but of changes. Error(bad_input) lists the
// names.
Policy named_policy(std::string_view name);

enum class ReplicaBalance {
  node_aware,  // each source replica serves a range of destination domains
  uniform,     // over destination replicas
};

// How receivers of relay_tree pass payloads on.
enum class Relay {
  fastest,  // of the two, by prediction
  tree,     // binary trees, for each payload from another root
  ring,     // scattered over the receivers, then from each to the next
};

struct PlanOptions {
  int chunks = 8;   // equal parts of each parcel that are pipelined through relays and NVLink
  int streams = 2;  // pipeline stages that move at the same time
  ReplicaBalance balance = ReplicaBalance::node_aware;
  // > 0: this many domains are injected from the sources and chains advance by as many (M2N's split
  // communicators); 0: one chain over a contiguous range of domains per source replica.
  int injected_domains = 0;
  std::int64_t bucket_bytes = 1717986918;  // of packed broadcast: 2 % of 80 GiB
  int buffers = 2;                         // buckets in flight
  PlanLimits limits = {};                  // kept by `optimal`
  // Of object_store and relay_tree: content of a payload, and how many a rank sends, or reads from
  // a store, at a time.
  std::int64_t payload_bytes = std::int64_t{512} << 20;
  int in_flight = 4;
  Relay relay = Relay::fastest;
  Around around = {};
  std::optional<DeltaOptions> delta = {};  // how changes are coded, for strategies that send those
};

// The pipeline: parcels, then each strategy's ops, in rounds on lanes.
Schedule plan(const Refit& refit, const Cluster& cluster, const Policy& policy,
              const PlanOptions& options = {});

}  // namespace refit
