#include "models/model_spec.h"

namespace refit {
namespace {

template <class Count>
std::int64_t sum(const std::vector<TensorSpec>& tensors, Count count) {
  std::int64_t total = 0;
  for (const TensorSpec& tensor : tensors) total += count(tensor);
  return total;
}

}  // namespace

std::int64_t ModelSpec::parameters() const {
  return sum(tensors, [](const TensorSpec& t) { return t.elements(); });
}

std::int64_t ModelSpec::bytes() const {
  return sum(tensors, [](const TensorSpec& t) { return t.bytes(); });
}

std::int64_t ModelSpec::checkpoint_tensors() const {
  return sum(tensors, [](const TensorSpec& t) { return std::int64_t{t.checkpoint_tensors()}; });
}

std::int64_t ModelSpec::bytes(Role role) const {
  return sum(tensors, [role](const TensorSpec& t) {
    return t.role == role && !t.mtp ? t.bytes() : std::int64_t{0};
  });
}

}  // namespace refit
