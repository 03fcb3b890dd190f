#pragma once

#include <vector>

#include "models/megatron.h"

namespace refit {

// Which stage of a Megatron pipeline holds what. The embedding is on the first, the head on the
// last.
struct MegatronStages {
  std::vector<int> layers;          // decoder layers of each stage
  std::vector<int> stage_of_layer;  // by decoder layer
  int mtp = 0;                      // of multi-token-prediction modules
  int final_norm = 0;
};

// Error(bad_input) names the key that is wrong.
MegatronStages megatron_stages(const ModelSpec& model, const MegatronOptions& options);

// A chunk of a pipeline: what one stage computes before the next stage goes on.
struct PipelineChunk {
  int layers = 0;
  bool mtp = false;

  friend bool operator==(const PipelineChunk&, const PipelineChunk&) = default;
};

// Megatron's two languages for chunks, in layer order. The model says what there must be.
std::vector<PipelineChunk> read_pipeline_layout(const ModelSpec& model,
                                                const MegatronOptions& options);
std::vector<PipelineChunk> read_hybrid_pattern(const ModelSpec& model,
                                               const MegatronOptions& options);

// The block of each layer as a hybrid pattern writes it (M Mamba, G delta net, * attention,
// + latent attention, E experts, - dense), or nothing if layers have two blocks, as usual.
std::string hybrid_blocks(const ModelSpec& model);

}  // namespace refit
