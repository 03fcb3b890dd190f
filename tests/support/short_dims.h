#pragma once

#include "models/refit.h"

namespace refit::test {

// The same question in few bytes. Between two cuts of a dim, of either side, at most two rows are
// left, so that every cut, every owner and every parcel stays, uneven shards and gaps included; of
// the members of a class, which have equal layouts, one is left.
//
//   8192 rows in 2 source shards and 4 destination shards: 8 rows, 4 and 2 to a shard
Refit with_short_dims(Refit refit);

}  // namespace refit::test
