#pragma once

#include <cstdint>
#include <vector>

#include "models/layout.h"

namespace refit {

// The layout of a tensor that has only `rows` of one dim: what is left of every shard, with rows
// counted anew. Error(bad_input) if there are none.
Layout select_rows(const Layout& layout, int dim, const IntervalSet& rows);

// The layout of a tensor whose dim has another length and other pieces, as many as
// layout.dim_pieces(dim) has and in that order.
Layout recut(const Layout& layout, int dim, std::int64_t length, std::vector<IntervalSet> pieces);

// The places of the rows of `inner` among those of `outer`, which holds them all.
IntervalSet places_in(const IntervalSet& outer, const IntervalSet& inner);

}  // namespace refit
