#include "planner/delta.h"

#include <algorithm>

#include "base/check.h"

namespace refit {

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
