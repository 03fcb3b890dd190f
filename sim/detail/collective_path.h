#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "schedule/schedule.h"
#include "sim/link_paths.h"
#include "topology/cluster.h"
#include "topology/route.h"

namespace refit::detail {

struct DomainShare {
  DomainId from, to;
  double weight = 0;
};

// A collective as one flow over many links (docs/network_model.md#collectives): the fluid limit of
// a pipelined ring or chain whose edges move in lockstep. Its rate is the slowest edge's.
struct CollectivePath {
  std::vector<PathLink> links;  // each link once, weights > 0
  double latency_s = 0;         // until the first byte has come to the last rank
  double flow_bytes_per_s = 0;  // most that its edges over a WAN get, one flow each; 0: no limit
  int rails = 1;                // NICs of every domain that a broadcast goes through
  // Bytes moved per byte of the flow, by kind of route and between domains.
  double network = 0;
  double nvlink = 0;
  double node = 0;
  std::vector<DomainShare> between;
};

// The members of a broadcast: the group's ranks, and the root if it is not one of them.
std::vector<Rank> broadcast_members(const Schedule& schedule, const Op& op);

// Makes each (kind, group, cargo or root) once: schedules repeat them for every chunk and layer.
class CollectivePaths {
 public:
  CollectivePaths(const Schedule& schedule, const Cluster& cluster)
      : schedule_(schedule), cluster_(cluster) {}

  // For a broadcast or an all-gather. The reference stays valid.
  const CollectivePath& of(const Op& op);

 private:
  const Schedule& schedule_;
  const Cluster& cluster_;
  std::map<std::tuple<OpKind, GroupId, std::int32_t>, CollectivePath> made_;
};

}  // namespace refit::detail
