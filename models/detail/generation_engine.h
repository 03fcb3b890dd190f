#pragma once

#include <string>
#include <vector>

#include "models/detail/cut_rules.h"
#include "models/engine_rules.h"
#include "models/expert_placement.h"
#include "models/mesh.h"
#include "models/model_spec.h"
#include "models/parallelism.h"

namespace refit::detail {

// What an engine is, whatever its grids are.
struct GenerationSpec {
  int gpus = 0;
  std::vector<int> stage_layers;
  EngineRules rules;
  bool mxfp4_experts = false;
};

// vLLM and SGLang cut a tensor alike once it is known which ranks share it: rows and columns of
// heads and of feed-forward widths evenly, blocks of fused matrices one by one, the vocabulary
// padded, fewer KV heads than ranks shared, experts placed whole. They differ in who shares what,
// which is what a subclass says.
class GenerationEngine : public Parallelism {
 public:
  int gpus() const override { return spec_.gpus; }
  int stages() const override { return static_cast<int>(spec_.stage_layers.size()); }
  const std::vector<int>& stage_layers() const override { return spec_.stage_layers; }

  int stage_of(const TensorSpec& tensor) const override;
  Layout layout(const TensorSpec& tensor, int stage, int members) const override;
  int layout_key(const TensorSpec& tensor) const override;

 protected:
  // The ranks of a stage that share a tensor, and the axes that cut it; -1: none does.
  struct Grid {
    Mesh mesh;
    int tensor_axis = -1;
    int expert_axis = -1;
    const char* keys = "tensor";  // of the scenario, that say how many ranks tensor_axis has
  };

  // Error(bad_input) if something is asked for that only other models have.
  GenerationEngine(const ModelSpec& model, GenerationSpec spec);

  virtual Grid grid(const TensorSpec& tensor, int stage) const = 0;
  // Of a head that is the embedding, on the last stage.
  virtual Grid head_grid(const TensorSpec& embedding, int stage) const = 0;
  virtual const ExpertTable* experts() const = 0;

  // Error(bad_input) if `ranks` can't share the heads of the model's attention; the message names
  // the nearest numbers that can. `keys` as in Grid.
  static void check_attention(const ModelSpec& model, int ranks, const char* keys);

 private:
  Layout on_grid(const TensorSpec& tensor, const Grid& grid, int members) const;
  [[noreturn]] void refuse_cut(const TensorSpec& tensor, const TensorDim& dim,
                               const Grid& grid) const;

  GenerationSpec spec_;
  CutRules rules_;
  bool last_stage_embeds_ = false;  // for a head that is the embedding, or a prediction module
  bool head_is_embedding_ = false;
  std::vector<int> stage_of_layer_;
};

// The layers of every stage as written, or by the engine's rule.
std::vector<int> stage_layers(int layers, int stages, const std::vector<int>& written,
                              const EngineRules& rules);

// Error(bad_input) that names the key if a degree is less than 1; otherwise their product.
std::int64_t product_of(std::initializer_list<std::pair<const char*, int>> degrees);

// Error(bad_input) unless `gpus` ranks are whole engines of `engine` ranks; otherwise how many.
int engines_in(int gpus, std::int64_t engine, const char* keys);

}  // namespace refit::detail
