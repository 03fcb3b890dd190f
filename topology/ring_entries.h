#pragma once

#include <vector>

#include "topology/cluster.h"

namespace refit {

// The members of each NVLink domain by which a ring through the domains enters and leaves it. A
// ring is laid through as many NICs of every domain as the narrowest has: of others those on the
// same rails, or their first ones. One sender alone in its domain fills one NIC of everybody.
std::vector<std::vector<Rank>> ring_entries(const Cluster& cluster,
                                            const std::vector<std::vector<Rank>>& domains);

}  // namespace refit
