#pragma once

#include <cstddef>
#include <string>

#include "report/domain_groups.h"

namespace refit {

// A larger table does not fit a page.
inline constexpr std::size_t kMostTrafficRows = 16;

// Whether the table has few enough rows and columns.
bool fits_table(const GroupTraffic& traffic);

// Who sends how much to whom, as a DOT graph of one table: senders down, receivers across. Each
// cell has a number, a bar as long as the number, and a fill the darker the more.
std::string traffic_graph(const std::string& strategy, const GroupTraffic& traffic);

}  // namespace refit
