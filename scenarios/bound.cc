#include "scenarios/bound.h"

#include <vector>

#include "models/parcels.h"
#include "planner/delta.h"

namespace refit {

RefitBound scenario_bound(const Scenario& scenario, bool coded) {
  std::vector<Parcel> parcels = find_parcels(scenario.refit);
  if (coded) code_parcels(scenario.refit, scenario.plan.delta.value(), parcels);
  return bound_of_refit(parcels, scenario.cluster);
}

}  // namespace refit
