#include "planner/delta.h"

#include <algorithm>

#include "base/check.h"
#include "delta/size_model.h"

namespace refit {

// The bytes of a change are those of a BF16 weight's, whatever the dtype: most of it is its place.
double coded_share(Codec codec, double changed, Dtype dtype) {
  if (changed <= 0) return 0;
  const double bytes = bytes_per_change(delta_codec_named(to_string(codec)).value(), changed);
  return std::min(1.0, changed * bytes / bytes_per_element(dtype));
}

void set_change_rate(const Refit& refit, double changed, DeltaOptions& delta) {
  for (std::size_t c = 0; c < refit.classes.size(); ++c)
    delta.shares[c] = coded_share(delta.coding.codec, changed, refit.classes[c].dtype);
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
