#include "delta/entropy.h"

#include <array>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace refit {
namespace {

// Which of two events, with a probability `p` of the one.
double coin_bits(double p) {
  if (p <= 0 || p >= 1) return 0;
  return -p * std::log2(p) - (1 - p) * std::log2(1 - p);
}

// All bits that a list of symbols needs, by how often each occurs.
template <class Counts>
double list_bits(const Counts& counts) {
  double all = 0, bits = 0;
  for (const auto& count : counts) all += static_cast<double>(count);
  for (const auto& count : counts) {
    if (count != 0)
      bits -= static_cast<double>(count) * std::log2(static_cast<double>(count) / all);
  }
  return bits;
}

using Histogram = std::vector<std::uint32_t>;

}  // namespace

DeltaEntropy measure_entropy(std::span<const std::uint16_t> old_elements,
                             std::span<const std::uint16_t> new_elements) {
  REFIT_CHECK(old_elements.size() == new_elements.size());
  std::array<double, 256> of_exponent{}, changed_of_exponent{};
  std::array<Histogram, 256> differences_of_exponent;
  Histogram differences(65536), masks(65536), values(65536);
  for (std::size_t i = 0; i < old_elements.size(); ++i) {
    const std::uint16_t before = old_elements[i], after = new_elements[i];
    const std::size_t exponent = (before >> 7) & 0xff;
    ++of_exponent[exponent];
    if (before == after) continue;
    ++changed_of_exponent[exponent];
    const auto difference = static_cast<std::uint16_t>(after - before);
    Histogram& here = differences_of_exponent[exponent];
    if (here.empty()) here.resize(65536);
    ++here[difference];
    ++differences[difference];
    ++masks[before ^ after];
    ++values[after];
  }

  DeltaEntropy entropy;
  entropy.elements = static_cast<double>(old_elements.size());
  for (const double count : changed_of_exponent) entropy.changed += count;
  if (entropy.changed == 0) return entropy;
  for (std::size_t e = 0; e < of_exponent.size(); ++e) {
    if (changed_of_exponent[e] == 0) continue;
    entropy.positions_given_exponent +=
        of_exponent[e] * coin_bits(changed_of_exponent[e] / of_exponent[e]) / entropy.changed;
    entropy.differences_given_exponent += list_bits(differences_of_exponent[e]) / entropy.changed;
  }
  entropy.positions = position_bits(entropy.change_rate());
  entropy.differences = list_bits(differences) / entropy.changed;
  entropy.masks = list_bits(masks) / entropy.changed;
  entropy.new_values = list_bits(values) / entropy.changed;
  return entropy;
}

double position_bits(double rate) { return rate <= 0 ? 0 : coin_bits(rate) / rate; }

}  // namespace refit
