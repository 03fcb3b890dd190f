#pragma once

#include <cstddef>

#include "sim/detail/task_graph.h"

namespace refit::detail {

// Takes links that can never be full out of all paths, and says how many. A link is slack if each
// path over it crosses one of its feeders, links that stay, and the feeders together can't bring it
// more than it carries: rates are what they would be with it. Every path keeps a link.
std::size_t leave_out_slack_links(TaskGraph& graph);

}  // namespace refit::detail
