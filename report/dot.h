#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/refit.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

enum class GraphLevel {
  ranks,    // a node per rank, boxed by NVLink domain
  domains,  // a node per NVLink domain
};

// Past this many ranks a drawing by rank is a tangle.
inline constexpr int kMostRanksDrawn = 64;
GraphLevel default_graph_level(const Refit& refit);

// A plan as a DOT graph, by rank: transfers are edges, summed over ops, labelled with bytes and as
// wide as their share of the largest; a collective is a node of its own, since how it moves its
// bytes is the transport's choice.
std::string rank_graph(const Schedule& schedule, const Refit& refit, const Cluster& cluster);

// The same by NVLink domain. `domain_bytes`: bytes from domain to domain, row-major, the diagonal
// what stays inside (sim/traffic.h).
std::string domain_graph(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         const std::vector<double>& domain_bytes);

}  // namespace refit
