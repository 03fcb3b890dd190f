#pragma once

#include <cstdint>
#include <span>

namespace refit {

// How few bits per changed element a code of each model can need, from how often what happened in a
// pair of old and new BF16 elements. "Given the exponent": both ends know the old element's
// exponent.
struct DeltaEntropy {
  double elements = 0, changed = 0;
  double positions = 0, positions_given_exponent = 0;
  double differences = 0, differences_given_exponent = 0;
  double masks = 0;  // old XOR new
  double new_values = 0;

  double change_rate() const { return changed / elements; }
  double rice() const { return positions + differences; }
  double conditioned() const { return positions_given_exponent + differences_given_exponent; }
};

// Nothing changed: all limits are 0.
DeltaEntropy measure_entropy(std::span<const std::uint16_t> old_elements,
                             std::span<const std::uint16_t> new_elements);

// Bits per change that say which of many elements change, each with probability `rate`.
double position_bits(double rate);

}  // namespace refit
