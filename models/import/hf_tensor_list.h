#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/import/hf_config.h"
#include "models/tensor_spec.h"

namespace refit {

// The dims of weights, by what they count. `blocks` as in TensorDim.
TensorDim plain(std::int64_t size);
TensorDim vocab_rows(std::int64_t size);
TensorDim q_heads(std::int64_t size, std::vector<std::int64_t> blocks = {});
TensorDim kv_heads(std::int64_t size);
TensorDim ffn_width(std::int64_t size, std::vector<std::int64_t> blocks = {});
TensorDim expert_count(std::int64_t size);

// The weights of a model in checkpoint order, with their sizes checked as they are added.
class TensorList {
 public:
  TensorList(const HfConfigOptions& options, std::string where);

  // Error(bad_input) naming the tensor if it, or all so far, has more elements than 64 bits can
  // count in bytes, or if it is one more than 200,000.
  void add(TensorSpec tensor);

  std::vector<TensorSpec> take() && { return std::move(tensors_); }
  const HfConfigOptions& options() const { return options_; }

 private:
  HfConfigOptions options_;
  std::string where_;
  std::vector<TensorSpec> tensors_;
  std::int64_t elements_ = 0;
};

// One place in a model, such as the attention of layer 3: what is added here shares the start of
// its name, its layer and whether it belongs to a multi-token-prediction module.
class TensorScope {
 public:
  // What a family keeps in FP32 while the rest is BF16. Counts only with the option
  // fp32_small_tensors.
  enum class Precision { model, fp32 };

  explicit TensorScope(TensorList& list) : list_(&list) {}

  TensorScope under(std::string_view suffix) const;
  TensorScope decoder_layer(int layer) const;  // marks; does not change the name
  TensorScope mtp_module() const;              // marks; such a module has no decoder layer

  void add(std::string_view name, std::vector<TensorDim> dims, Role role, std::string part = {},
           Precision precision = Precision::model) const;

  // One tensor per expert in the checkpoint; `name` holds "{expert}", dims[0] counts the experts.
  void add_per_expert(std::string_view name, std::vector<TensorDim> dims, Role role,
                      std::string part) const;

 private:
  TensorSpec spec(std::string_view name, std::vector<TensorDim> dims, Role role,
                  std::string part) const;

  TensorList* list_;
  std::string prefix_;
  std::optional<int> layer_;
  bool mtp_ = false;
};

}  // namespace refit
