#pragma once

#include <vector>

#include "models/model_spec.h"
#include "models/parallelism.h"
#include "models/precision.h"

namespace refit {

// A side, as far as a message about it must know it.
struct BlockedSide {
  int gpus = 0;
  HeadGroups heads;
};

// Elements that share a scale must stay together: Error(bad_input) if `parts`, the layout of a
// weight, cut inside a block of `format`. The message begins with the key of the side that cuts so,
// and names the nearest degrees that cut between blocks.
void check_blocks(const TensorSpec& weight, Format format, const std::vector<LayoutPart>& parts,
                  const BlockedSide& side);

// The same for each of two forms that has blocks.
void check_blocks(const TensorSpec& weight, const ElementForm& own, const ElementForm& wire,
                  const std::vector<LayoutPart>& parts, const BlockedSide& side);

// The layout of a tensor whose entries stand for blocks of a weight, from the layout of the weight:
// who holds a block holds its entry. The cuts are between blocks.
std::vector<LayoutPart> stored_parts(const StoredTensor& stored,
                                     const std::vector<LayoutPart>& weight_parts);

}  // namespace refit
