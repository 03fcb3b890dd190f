#include "planner/delta.h"

#include <algorithm>

#include "base/check.h"
#include "delta/size_model.h"

namespace refit {

namespace {

DeltaElement element_of(Dtype dtype) {
  const int bytes = bytes_per_element(dtype);
  switch (dtype) {
    case Dtype::bf16:
      return {bytes, 7};
    case Dtype::f16:
      return {bytes, 10};
    case Dtype::f32:
      return {bytes, 23};
    case Dtype::f8_e4m3:
      return {bytes, 3};
    case Dtype::f8_e5m2:
      return {bytes, 2};
    default:  // scales, and integers in which MXFP4 has two weights a byte
      return {bytes, std::nullopt};
  }
}

}  // namespace

bool is_converted(const TensorClass& tensors) {
  return !tensors.conversions.empty() || tensors.scales;
}

Codec DeltaOptions::codec_of(const TensorClass& tensors) const {
  return is_converted(tensors) ? residual_codec : coding.codec;
}

double coded_share(Codec codec, double changed, Dtype dtype,
                   std::optional<double> bytes_per_change) {
  if (changed <= 0) return 0;
  const DeltaElement element = element_of(dtype);
  const double bytes = bytes_per_change.value_or(refit::bytes_per_change(codec, changed, element));
  return std::min(1.0, changed * bytes / element.bytes);
}

void set_change_rate(const Refit& refit, double changed, DeltaOptions& delta) {
  double changes = 0, bytes = 0;
  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    const TensorClass& tensors = refit.classes[c];
    delta.shares[c] =
        coded_share(delta.codec_of(tensors), changed, tensors.dtype, delta.bytes_per_change);
    changes += changed * static_cast<double>(tensors.elements());
    bytes += static_cast<double>(tensors.bytes());
  }
  delta.coding.changes_per_byte = changes / bytes;
}

void code_parcels(const Refit& refit, const DeltaOptions& delta, std::vector<Parcel>& parcels) {
  REFIT_CHECK(delta.shares.size() == refit.classes.size());
  for (Parcel& parcel : parcels) {
    double coded = 0;
    double share = 0;  // of all its classes, if it is one share
    bool one = true;
    for (const Fragment& fragment : parcel.fragments) {
      const double here = delta.shares[fragment.tensor_class.index()];
      coded += here * static_cast<double>(bytes_of(refit, fragment));
      one = one && here == delta.shares[parcel.fragments.front().tensor_class.index()];
      share = here;
    }
    if (!one) share = coded / static_cast<double>(parcel.bytes);
    parcel.share = std::clamp(share, 0.0, 1.0);
  }
}

}  // namespace refit
