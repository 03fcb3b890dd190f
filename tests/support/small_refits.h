#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/refit.h"

namespace refit::test {

// Every layout of one tensor shape over `ranks` ranks from `first`: meshes of one to three axes of
// two or more ranks each (one axis if ranks is 1), and on each axis replicate or shard any dim.
std::vector<Layout> all_layouts(const std::vector<std::int64_t>& shape, int first, int ranks);

// A refit of one u8 tensor between two layouts of it.
Refit refit_of(const Layout& source, const Layout& destination, int ranks);

}  // namespace refit::test
