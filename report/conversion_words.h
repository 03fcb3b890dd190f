#pragma once

#include <string>

#include "models/conversion_totals.h"

namespace refit {

// "destination: quantise (bf16 to mxfp8), 336 tensors, 61.06 GB read and 31.48 GB written by all
// ranks"
std::string conversion_words(const ConversionTotal& total);

}  // namespace refit
