#pragma once

#include <string>
#include <vector>

#include "models/coding.h"
#include "models/parcels.h"
#include "models/refit.h"

namespace refit {

// How a strategy that sends changes codes them.
struct DeltaOptions {
  Coding coding;
  std::vector<double> shares;  // by class: of its bytes, what travels
  std::string words;           // "1 % changed, rice"
};

// Parcels travel as the share that the classes of their fragments have on average.
void code_parcels(const Refit& refit, const DeltaOptions& delta, std::vector<Parcel>& parcels);

}  // namespace refit
