#pragma once

#include <vector>

#include "models/detail/flat_parameters.h"

namespace refit::detail {

// What the shard ranks own of one tensor of one tensor or expert parallel rank. Within a part they
// own the same rows of every expert.
struct FlatShares {
  struct Part {
    IntervalSet experts;            // local numbers; empty if rows are not those of single experts
    std::vector<IntervalSet> rows;  // by shard rank, of the rank's own rows
  };
  std::vector<Part> parts;
};

// The tensors of a layer, packed in the order in which modules register them: one buffer for each
// dtype, and one more for each dtype of experts. One result per tensor.
std::vector<FlatShares> pack_layer(const Tensors& tensors, const FlatRules& rules);

// Tensors outside layers, in buffers of at least `bucket_elements` but for the last of each dtype.
// A tied embedding has its own.
std::vector<FlatShares> pack_rest(const Tensors& tensors, const FlatRules& rules,
                                  std::int64_t bucket_elements, bool tied_embeddings);

}  // namespace refit::detail
