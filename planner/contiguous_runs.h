#pragma once

#include "models/layout.h"

namespace refit {

// Contiguous pieces of the largest shard of `shards`, as the shards of `others` cut it: what
// packing or unpacking copies one by one. A cut across rows ends a run at every row.
double contiguous_runs(const Layout& shards, const Layout& others);

}  // namespace refit
