#pragma once

#include <optional>

#include "base/codec.h"

namespace refit {

// What changes: usually BF16 weights.
struct DeltaElement {
  int bytes = 2;
  std::optional<int> fraction_bits = 7;  // none: bits of which a step of training says nothing
};

// Bytes on the wire per changed element when this share of all elements, more than 0 and at most 1,
// changes as an optimiser's steps change them. Of BF16 interpolated between measurements on the
// seeded updater (docs/delta.md); below them, as the places' entropy goes; where all change, whole
// elements. Uniformly scattered changes cost `conditioned` as much as `rice`, and both of these
// less than said here.
//
// Other floating-point elements: differences count the values between old and new, which depends on
// the share alone, so they take as many bits; new elements take the bits that a longer fraction
// has. `conditioned` is for BF16 and elsewhere `rice`. Of what is no floating-point number nobody
// knows how it changes: the place and a whole element, more than which no codec needs.
double bytes_per_change(Codec codec, double change_rate, const DeltaElement& element = {});

}  // namespace refit
