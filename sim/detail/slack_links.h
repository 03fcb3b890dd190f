#pragma once

#include <cstddef>

#include "sim/detail/task_graph.h"

namespace refit::detail {

// Links that can never hold a flow back: all that crosses such a link also crosses one of some
// other links, its feeders, and these together let through no more than it can carry.
//
//   8 NICs of 50 GB/s under a leaf, trunk of 400 GB/s: no flow notices the trunk
//
// Feeders are never slack themselves, nor are links that change on the way. Takes the slack links
// out of all paths, and returns how many there were; every path keeps a link.
std::size_t leave_out_slack_links(TaskGraph& graph);

}  // namespace refit::detail
