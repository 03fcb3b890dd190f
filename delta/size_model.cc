#include "delta/size_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "delta/entropy.h"

namespace refit {
namespace {

constexpr std::size_t kCodecs = 4;

struct Measured {
  double change_rate = 0;
  std::array<double, kCodecs> bytes_per_change;  // in the order of Codec
};

// One steady step at learning rates from 1e-8 in powers of two: `delta_sizes --model` prints these
// rows.
constexpr Measured kMeasured[] = {
    {1.720e-04, {1.9418, 1.4241, 2.4920, 3.7131}}, {3.258e-04, {1.8280, 1.2909, 2.3736, 3.5807}},
    {6.075e-04, {1.7225, 1.2013, 2.2681, 3.4558}}, {1.135e-03, {1.6156, 1.1163, 2.1606, 3.3406}},
    {2.128e-03, {1.5089, 1.0487, 2.0544, 3.2262}}, {3.925e-03, {1.4090, 0.9857, 1.9621, 3.1184}},
    {7.177e-03, {1.3067, 0.9262, 1.8580, 2.9964}}, {1.303e-02, {1.2036, 0.8696, 1.7513, 2.8723}},
    {2.341e-02, {1.1035, 0.8157, 1.6502, 2.7531}}, {4.144e-02, {1.0084, 0.7643, 1.5499, 2.6287}},
    {7.207e-02, {0.9210, 0.7157, 1.4377, 2.4919}}, {1.226e-01, {0.8449, 0.6753, 1.3496, 2.3693}},
    {2.022e-01, {0.7762, 0.6470, 1.2712, 2.2488}}, {3.192e-01, {0.7081, 0.6349, 1.1922, 2.1171}},
    {4.729e-01, {0.6737, 0.6323, 1.1482, 2.0130}}, {6.415e-01, {0.6711, 0.6491, 1.1353, 1.9182}},
    {7.872e-01, {0.7358, 0.7065, 1.1358, 1.8248}}, {8.857e-01, {0.8312, 0.8047, 1.1582, 1.7392}},
    {9.415e-01, {0.9476, 0.9230, 1.2130, 1.6733}}, {9.706e-01, {1.0792, 1.0565, 1.2892, 1.6295}},
    {9.853e-01, {1.2275, 1.2077, 1.3792, 1.6028}},
};

constexpr DeltaElement kBf16;

// What is not places: smooth in the logarithm of the rate, and nearly constant where changes are
// few.
double beside_places(const Measured& measured, std::size_t codec) {
  return measured.bytes_per_change[codec] - position_bits(measured.change_rate) / 8;
}

// Of BF16; where all elements change, `whole`.
double beside_places(std::size_t codec, double change_rate, double whole) {
  const auto above = std::ranges::lower_bound(kMeasured, change_rate, {}, &Measured::change_rate);
  if (above == std::begin(kMeasured)) return beside_places(*above, codec);
  const Measured& low = above[-1];
  const bool last = above == std::end(kMeasured);
  const double high_rate = last ? 1 : above->change_rate;
  const double high = last ? whole : beside_places(*above, codec);
  const double along =
      std::log(change_rate / low.change_rate) / std::log(high_rate / low.change_rate);
  return (1 - along) * beside_places(low, codec) + along * high;
}

// New elements beside BF16's, in bytes.
double longer(Codec codec, const DeltaElement& element) {
  return codec == Codec::nemo_overwrite ? (*element.fraction_bits - *kBf16.fraction_bits) / 8.0 : 0;
}

}  // namespace

double bytes_per_change(Codec codec, double change_rate, const DeltaElement& element) {
  REFIT_CHECK(change_rate > 0 && change_rate <= 1);
  const double places = position_bits(change_rate) / 8;
  if (!element.fraction_bits) return places + element.bytes;
  const bool is_bf16 = element.bytes == kBf16.bytes && element.fraction_bits == kBf16.fraction_bits;
  if (codec == Codec::conditioned && !is_bf16) codec = Codec::rice;
  const double more = longer(codec, element);
  return places + more +
         beside_places(static_cast<std::size_t>(codec), change_rate, element.bytes - more);
}

}  // namespace refit
