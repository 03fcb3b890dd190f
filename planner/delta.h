#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/coding.h"
#include "models/parcels.h"
#include "models/refit.h"

namespace refit {

// How a strategy that sends changes codes them.
struct DeltaOptions {
  Coding coding;
  std::vector<double> shares;                   // by class: of its bytes, what travels
  std::string words;                            // "1 % changed, rice"
  std::optional<double> bytes_per_change = {};  // as measured by somebody; none: the size model's
  // Of tensors that are converted on their way, of which no receiver has the old elements.
  Codec residual_codec = Codec::rice;

  Codec codec_of(const TensorClass& tensors) const;
};

// Or made by a conversion.
bool is_converted(const TensorClass& tensors);

// Parcels travel as the share that the classes of their fragments have on average.
void code_parcels(const Refit& refit, const DeltaOptions& delta, std::vector<Parcel>& parcels);

// Of a tensor's bytes, what travels if a share of its elements changed. `bytes_per_change`: none:
// what the size model says of such elements.
double coded_share(Codec codec, double changed, Dtype dtype,
                   std::optional<double> bytes_per_change = {});

// As if this share of all weights had changed, whatever the tensor.
void set_change_rate(const Refit& refit, double changed, DeltaOptions& delta);

}  // namespace refit
