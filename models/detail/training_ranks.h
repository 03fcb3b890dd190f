#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "models/parallelism.h"

namespace refit::detail {

[[noreturn]] void refuse(const std::string& message);  // as bad input

struct NamedDegree {
  const char* key;
  int size;
};

// The product of the degrees, which must divide `ranks`: "the 8 ranks of a pipeline stage".
// Error(bad_input) with the products that do.
int dividing_product(std::initializer_list<NamedDegree> degrees, int ranks, const char* of_what);

// Error(bad_input) if expert parallelism can't give all its ranks equally many whole experts.
void check_whole_experts(const ModelSpec& model, int expert);

// A side whose pipeline stages hold layers in order: the embedding is with the first, all else that
// belongs to no layer with the last.
class StagedSide : public Parallelism {
 public:
  int gpus() const override { return gpus_; }
  int stages() const override { return static_cast<int>(stage_layers_.size()); }
  const std::vector<int>& stage_layers() const override { return stage_layers_; }
  int stage_of(const TensorSpec& tensor) const override;

 protected:
  StagedSide(int gpus, std::vector<int> stage_layers);

 private:
  int gpus_;
  std::vector<int> stage_layers_;
  std::vector<int> stage_of_layer_;
};

// Stages as written, which must fit the model, or even shares with one more for the first ones.
std::vector<int> written_stages_or_even(const ModelSpec& model, int pipeline,
                                        const std::vector<int>& written);

}  // namespace refit::detail
