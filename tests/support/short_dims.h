#pragma once

#include <cstdint>

#include "models/refit.h"

namespace refit::test {

// What is left at most.
struct ShortDims {
  std::int64_t rows = 2;     // between two cuts of a dim, of either side
  std::int64_t members = 1;  // of a class: they have equal layouts
};

// The same question in few bytes: every cut, every owner and every parcel stays, uneven shards and
// gaps included.
//
//   8192 rows in 2 source shards and 4 destination shards: 8 rows, 4 and 2 to a shard
Refit with_short_dims(Refit refit, const ShortDims& left = {});

}  // namespace refit::test
