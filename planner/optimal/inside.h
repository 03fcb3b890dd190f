#pragma once

#include <deque>
#include <vector>

#include "planner/optimal/problem.h"

namespace refit {

// What ranks get from owners in their own island. Seen from inside, every rank is an island of its
// own whose NIC is its NVLink port: the same problem once more, for all islands at once.
struct Inside {
  std::vector<Content> contents;        // owners and demanders of one island each; in chunks
  std::vector<int> outer;               // by content: the content that it is a part of
  std::deque<std::vector<Rank>> lists;  // where the contents' owners and demanders are kept
  Problem problem;
};

// `contents` are in chunks; `network` knows the islands of the cluster.
Inside inside_problem(const std::vector<Content>& contents, const PlanNetwork& network,
                      const Cluster& cluster);

}  // namespace refit
