#include "models/import/hf_tensor_list.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

// At 8 bytes per element the bytes still fit 63 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 59;
// A short text may ask for many modules of many blocks. The largest models have a few thousand.
constexpr std::size_t kMostTensors = 200'000;

}  // namespace

TensorDim plain(std::int64_t size) { return {size, Axis::none, {}}; }
TensorDim vocab_rows(std::int64_t size) { return {size, Axis::vocab, {}}; }
TensorDim q_heads(std::int64_t size, std::vector<std::int64_t> blocks) {
  return {size, Axis::q_head, std::move(blocks)};
}
TensorDim kv_heads(std::int64_t size) { return {size, Axis::kv_head, {}}; }
TensorDim ffn_width(std::int64_t size, std::vector<std::int64_t> blocks) {
  return {size, Axis::ffn, std::move(blocks)};
}
TensorDim expert_count(std::int64_t size) { return {size, Axis::expert, {}}; }

TensorList::TensorList(const HfConfigOptions& options, std::string where)
    : options_(options), where_(std::move(where)) {}

void TensorList::add(TensorSpec tensor) {
  if (tensors_.size() == kMostTensors) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: with tensor '{}' the model has more than {} tensors, experts of a "
                            "layer counted as one; check its numbers of layers and modules",
                            where_, tensor.name, kMostTensors));
  }
  std::int64_t product = 1;
  bool fits = true;
  for (const TensorDim& dim : tensor.dims) {
    fits = fits && !__builtin_mul_overflow(product, dim.size, &product) && product <= kMostElements;
  }
  if (!fits || product > kMostElements - elements_) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: with tensor '{}' the model has more than 2^59 elements; check the "
                            "sizes in the configuration",
                            where_, tensor.name));
  }
  elements_ += product;
  tensors_.push_back(std::move(tensor));
}

TensorScope TensorScope::under(std::string_view suffix) const {
  TensorScope inner = *this;
  inner.prefix_ += suffix;
  return inner;
}

TensorScope TensorScope::decoder_layer(int layer) const {
  TensorScope inner = *this;
  inner.layer_ = layer;
  return inner;
}

TensorScope TensorScope::mtp_module() const {
  TensorScope inner = *this;
  inner.layer_.reset();
  inner.mtp_ = true;
  return inner;
}

void TensorScope::add(std::string_view name, std::vector<TensorDim> dims, Role role,
                      std::string part, Precision precision) const {
  TensorSpec tensor = spec(name, std::move(dims), role, std::move(part));
  if (precision == Precision::fp32 && list_->options().fp32_small_tensors) {
    tensor.dtype = Dtype::f32;
  }
  list_->add(std::move(tensor));
}

void TensorScope::add_per_expert(std::string_view name, std::vector<TensorDim> dims, Role role,
                                 std::string part) const {
  TensorSpec tensor = spec(name, std::move(dims), role, std::move(part));
  tensor.experts = static_cast<int>(tensor.dims.front().size);
  list_->add(std::move(tensor));
}

TensorSpec TensorScope::spec(std::string_view name, std::vector<TensorDim> dims, Role role,
                             std::string part) const {
  TensorSpec tensor;
  tensor.name = prefix_ + std::string(name);
  tensor.dims = std::move(dims);
  tensor.dtype = list_->options().dtype;
  tensor.role = role;
  tensor.layer = layer_;
  tensor.mtp = mtp_;
  tensor.part = std::move(part);
  return tensor;
}

}  // namespace refit
