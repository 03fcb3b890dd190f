#pragma once

#include <string>
#include <vector>

#include "models/refit.h"
#include "report/domain_groups.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// Past this many ranks a drawing by rank is a tangle.
inline constexpr int kMostRanksDrawn = 64;

// Whether a drawing by rank is legible: few ranks, and few arrows between them.
bool draws_by_rank(const Schedule& schedule, const Refit& refit);

// A plan as a DOT graph, by rank: transfers are edges, summed over ops, labelled with bytes and as
// wide as their share of the largest; a collective is a node of its own, since how it moves its
// bytes is the transport's choice.
std::string rank_graph(const Schedule& schedule, const Refit& refit, const Cluster& cluster);

// The pairs of different groups that carry nearly all bytes, the largest first, at most kMostEdges.
std::vector<GroupTraffic::Pair> telling_pairs(const GroupTraffic& traffic);

// The same by groups of NVLink domains, with all pairs or with those that tell; the others are
// counted.
std::string domain_graph(const Schedule& schedule, const GroupTraffic& traffic, bool all_pairs);

}  // namespace refit
