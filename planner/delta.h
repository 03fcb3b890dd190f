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

// Of a tensor's bytes, what travels if a share of its elements changed.
double coded_share(Codec codec, double changed, Dtype dtype);

// As if this share of all weights had changed, whatever the tensor.
void set_change_rate(const Refit& refit, double changed, DeltaOptions& delta);

}  // namespace refit
