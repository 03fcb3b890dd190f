#include "models/refit.h"

namespace refit {

std::int64_t TensorClass::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t side : shape()) product *= side;
  return product;
}

std::int64_t TensorClass::bytes() const { return elements() * bytes_per_element(dtype); }

std::int64_t Refit::unique_bytes() const {
  std::int64_t sum = 0;
  for (const TensorClass& c : classes) sum += c.bytes();
  return sum;
}

std::int64_t Refit::payload_bytes() const {
  std::int64_t sum = 0;
  for (const TensorClass& c : classes)
    sum += c.destination.held_elements() * bytes_per_element(c.dtype);
  return sum;
}

}  // namespace refit
