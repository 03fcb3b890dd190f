#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_spec.h"

namespace refit {

// How the elements of a model's weights are stored.
enum class Format {
  as_model,  // as ModelSpec says
  bf16,
  f16,
  f32,
  fp8_blockwise,  // E4M3, an FP32 scale per 128 x 128 elements
  mxfp8,          // E4M3, an E8M0 scale per 32 elements along the input dim
  mxfp4,          // E2M1, two to a byte, and such a scale: 17 bytes for 32 elements
};

bool is_quantised(Format format);

// A format, and the weights it is for. What is left out stays as the model has it.
struct Precision {
  Format format = Format::as_model;
  // Only of formats with scales. Empty: all projections, or routed experts for mxfp4.
  std::vector<Role> roles = {};
};

// The element type of most of a model. Small tensors in FP32 beside it are FP32 in any precision.
Dtype main_dtype(const ModelSpec& model);

// What one tensor is under a precision: elements of `dtype`, or of a format with scales.
struct ElementForm {
  Format quantised = Format::as_model;  // as_model: none
  Dtype dtype = Dtype::bf16;            // of all elements if they are not quantised

  friend bool operator==(const ElementForm&, const ElementForm&) = default;
};

// `main` is main_dtype of the tensor's model. Formats with scales are for matrices that a
// projection multiplies with; embeddings, head, norms, routers, convolutions, biases and what has
// one row per recurrent head stay.
ElementForm form_of(const TensorSpec& tensor, const Precision& precision, Dtype main);
double bytes_per_element(const ElementForm& form);  // with its share of a scale
std::string to_string(const ElementForm& form);     // "bf16", "fp8_blockwise"

// Elements that share a scale, per dim of the tensor; 1 where a cut may fall anywhere.
std::vector<std::int64_t> block_shape(const TensorSpec& tensor, Format format);

// A tensor of a checkpoint that stands for a weight or a part of it. An entry stands for `block`
// elements of the weight per dim; the last one of a dim may stand for fewer.
struct StoredTensor {
  TensorSpec tensor;
  std::vector<std::int64_t> block;
};

// The weight itself, and its scales if the form has any:
//   gate_proj.weight [18432, 7168] as fp8_blockwise
//     -> gate_proj.weight f8_e4m3 [18432, 7168], gate_proj.weight_scale_inv f32 [144, 56]
std::vector<StoredTensor> stored_as(const TensorSpec& weight, const ElementForm& form);

// The model with all its tensors as they are stored.
ModelSpec in_precision(const ModelSpec& model, const Precision& precision);

// The dim along which a projection sums: the last, except in experts that are stored transposed.
std::size_t input_dim(const TensorSpec& tensor);

}  // namespace refit
