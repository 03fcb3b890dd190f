#pragma once

#include <vector>

#include "models/import/hf_decoder.h"
#include "models/import/hf_feed_forward.h"

namespace refit {

// The numbers of a mixture of experts, from the two conventions of keys. Both set the layers and
// the experts of the model.

// intermediate_size is the width of one expert, and all layers have experts.
MoeShape read_uniform_moe(HfModel& model);

// moe_intermediate_size is the width of one expert; intermediate_size is that of dense layers. A
// shared expert is so many times as wide as one expert.
MoeShape read_mixed_moe(HfModel& model);

// Which of the decoder's layers have experts; the others have a dense network.
std::vector<bool> read_sparse_layers(const HfKeys& keys, int layers);

// A layer's feed-forward part: experts or a dense network, as read_sparse_layers says. Layers
// beyond the decoder's last belong to prediction modules and have experts.
LayerPart sparse_or_dense(HfModel& model, const MoeShape& moe, const MoeNames& names = {});

}  // namespace refit
