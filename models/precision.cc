#include "models/precision.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "models/parallelism.h"

namespace refit {
namespace {

constexpr std::int64_t kFp8Block = 128;
constexpr std::int64_t kMxBlock = 32;
constexpr std::int64_t kFp4PerByte = 2;

constexpr Role kProjections[] = {Role::attention,     Role::linear_attention,
                                 Role::routed_expert, Role::shared_expert,
                                 Role::dense_ffn,     Role::latent_projection};

std::string_view name_of(Format format) {
  switch (format) {
    case Format::as_model:
      return "as the model";
    case Format::bf16:
      return "bf16";
    case Format::f16:
      return "f16";
    case Format::f32:
      return "f32";
    case Format::fp8_blockwise:
      return "fp8_blockwise";
    case Format::mxfp8:
      return "mxfp8";
    case Format::mxfp4:
      return "mxfp4";
  }
  REFIT_CHECK(false && "a format without a name");
  return {};
}

bool has_role(const Precision& precision, Role role) {
  const auto in = [role](const auto& roles) {
    return std::find(std::begin(roles), std::end(roles), role) != std::end(roles);
  };
  if (!precision.roles.empty()) return in(precision.roles);
  // Released MXFP4 models have nothing else in it.
  if (precision.format == Format::mxfp4) return role == Role::routed_expert;
  return in(kProjections);
}

// The last two dims count rows and columns, and nothing but experts stands before them.
bool is_matrix(const TensorSpec& tensor) {
  return tensor.dims.size() == (on_expert_grid(tensor) ? 3U : 2U);
}

// Gates and decays of recurrent layers, weights of indexers: too few rows for blocks.
bool has_row_per_head(const TensorSpec& tensor) {
  if (tensor.part == "index_weights") return true;
  for (const char* part : {"in_a", "in_b", "in_ba", "b"}) {
    if (tensor.role == Role::linear_attention && tensor.part == part) return true;
  }
  return false;
}

Dtype dtype_of(Format plain) {
  return plain == Format::bf16 ? Dtype::bf16 : plain == Format::f16 ? Dtype::f16 : Dtype::f32;
}

StoredTensor divided(const TensorSpec& weight, const char* suffix, Dtype dtype,
                     std::vector<std::int64_t> block) {
  StoredTensor stored{weight, std::move(block)};
  stored.tensor.name += suffix;
  stored.tensor.dtype = dtype;
  stored.tensor.scales = std::string_view(suffix).starts_with("_scale");
  for (std::size_t d = 0; d < stored.block.size(); ++d) {
    if (stored.block[d] == 1) continue;
    TensorDim& dim = stored.tensor.dims[d];
    dim.size = (dim.size + stored.block[d] - 1) / stored.block[d];
    dim.blocks.clear();  // layouts follow from the weight's, which has them
  }
  return stored;
}

}  // namespace

bool is_quantised(Format format) {
  return format == Format::fp8_blockwise || format == Format::mxfp8 || format == Format::mxfp4;
}

Dtype main_dtype(const ModelSpec& model) {
  std::map<Dtype, std::int64_t> elements;
  for (const TensorSpec& tensor : model.tensors) elements[tensor.dtype] += tensor.elements();
  if (elements.empty()) return Dtype::bf16;
  return std::max_element(elements.begin(), elements.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

ElementForm form_of(const TensorSpec& tensor, const Precision& precision, Dtype main) {
  const ElementForm as_is{Format::as_model, tensor.dtype};
  if (precision.format == Format::as_model || tensor.dtype != main) return as_is;
  if (!is_quantised(precision.format)) return {Format::as_model, dtype_of(precision.format)};
  const bool quantised =
      has_role(precision, tensor.role) && is_matrix(tensor) && !has_row_per_head(tensor);
  return quantised ? ElementForm{precision.format, tensor.dtype} : as_is;
}

double bytes_per_element(const ElementForm& form) {
  switch (form.quantised) {
    case Format::fp8_blockwise:
      return 1 + 4.0 / (kFp8Block * kFp8Block);
    case Format::mxfp8:
      return 1 + 1.0 / kMxBlock;
    case Format::mxfp4:
      return 0.5 + 1.0 / kMxBlock;
    default:
      return bytes_per_element(form.dtype);
  }
}

std::string to_string(const ElementForm& form) {
  return std::string(form.quantised == Format::as_model ? to_string(form.dtype)
                                                        : name_of(form.quantised));
}

std::vector<std::int64_t> block_shape(const TensorSpec& tensor, Format format) {
  std::vector<std::int64_t> block(tensor.dims.size(), 1);
  if (!is_quantised(format)) return block;
  REFIT_CHECK(is_matrix(tensor));
  if (format == Format::fp8_blockwise) {
    block[block.size() - 1] = block[block.size() - 2] = kFp8Block;
  } else {
    block[input_dim(tensor)] = kMxBlock;
  }
  return block;
}

std::vector<StoredTensor> stored_as(const TensorSpec& weight, const ElementForm& form) {
  std::vector<std::int64_t> whole(weight.dims.size(), 1);
  std::vector<std::int64_t> block = block_shape(weight, form.quantised);
  switch (form.quantised) {
    case Format::fp8_blockwise:
      return {divided(weight, "", Dtype::f8_e4m3, std::move(whole)),
              divided(weight, "_scale_inv", Dtype::f32, std::move(block))};
    case Format::mxfp8:
      return {divided(weight, "", Dtype::f8_e4m3, std::move(whole)),
              divided(weight, "_scale", Dtype::f8_e8m0, std::move(block))};
    case Format::mxfp4: {
      std::vector<std::int64_t> pair = whole;
      pair[input_dim(weight)] = kFp4PerByte;
      return {divided(weight, "", Dtype::u8, std::move(pair)),
              divided(weight, "_scale", Dtype::f8_e8m0, std::move(block))};
    }
    default:
      return {divided(weight, "", form.dtype, std::move(whole))};
  }
}

ModelSpec in_precision(const ModelSpec& model, const Precision& precision) {
  ModelSpec stored = model;
  stored.tensors.clear();
  const Dtype main = main_dtype(model);
  for (const TensorSpec& tensor : model.tensors) {
    for (StoredTensor& part : stored_as(tensor, form_of(tensor, precision, main))) {
      stored.tensors.push_back(std::move(part.tensor));
    }
  }
  return stored;
}

std::size_t input_dim(const TensorSpec& tensor) {
  const std::size_t last = tensor.dims.size() - 1;
  if (!on_expert_grid(tensor) || last < 2) return last;
  // `down` reads the intermediate width, `gate` and `up` what is not that.
  const bool last_is_width = tensor.dims[last].axis == Axis::ffn;
  return (tensor.part == "down") == last_is_width ? last : last - 1;
}

}  // namespace refit
