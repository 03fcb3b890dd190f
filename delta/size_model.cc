#include "delta/size_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "delta/entropy.h"

namespace refit {
namespace {

constexpr std::size_t kMeasuredCodecs = 6;  // all but index_value, in their order

struct Measured {
  double change_rate = 0;
  std::array<double, kMeasuredCodecs> bytes_per_change;
};

// One steady step at learning rates from 1e-8 in powers of two: `delta_sizes --model` prints these
// rows.
constexpr Measured kMeasured[] = {
    {1.720e-04, {1.9418, 1.4241, 3.7498, 3.7131, 2.4920, 5.9404}},
    {3.258e-04, {1.8280, 1.2909, 3.6345, 3.5807, 2.3736, 5.3831}},
    {6.075e-04, {1.7225, 1.2013, 3.5216, 3.4558, 2.2681, 3.9957}},
    {1.135e-03, {1.6156, 1.1163, 3.4100, 3.3406, 2.1606, 3.0055}},
    {2.128e-03, {1.5089, 1.0487, 3.2984, 3.2262, 2.0544, 3.4174}},
    {3.925e-03, {1.4090, 0.9857, 3.1918, 3.1184, 1.9621, 3.1073}},
    {7.177e-03, {1.3067, 0.9262, 3.0832, 2.9964, 1.8580, 2.9341}},
    {1.303e-02, {1.2036, 0.8696, 2.9711, 2.8723, 1.7513, 2.7215}},
    {2.341e-02, {1.1035, 0.8157, 2.8609, 2.7531, 1.6502, 2.5067}},
    {4.144e-02, {1.0084, 0.7643, 2.7547, 2.6287, 1.5499, 2.2994}},
    {7.207e-02, {0.9210, 0.7157, 2.6531, 2.4919, 1.4377, 2.0981}},
    {1.226e-01, {0.8449, 0.6753, 2.5573, 2.3693, 1.3496, 1.8823}},
    {2.022e-01, {0.7762, 0.6470, 2.4607, 2.2488, 1.2712, 1.6362}},
    {3.192e-01, {0.7081, 0.6349, 2.3584, 2.1171, 1.1922, 1.3911}},
    {4.729e-01, {0.6737, 0.6323, 2.2644, 2.0130, 1.1482, 1.1924}},
    {6.415e-01, {0.6711, 0.6491, 2.1948, 1.9182, 1.1353, 1.0699}},
    {7.872e-01, {0.7358, 0.7065, 2.1588, 1.8248, 1.1358, 1.0257}},
    {8.857e-01, {0.8312, 0.8047, 2.1411, 1.7392, 1.1582, 1.0538}},
    {9.415e-01, {0.9476, 0.9230, 2.1328, 1.6733, 1.2130, 1.1338}},
    {9.706e-01, {1.0792, 1.0565, 2.1288, 1.6295, 1.2892, 1.2363}},
    {9.853e-01, {1.2275, 1.2077, 2.1269, 1.6028, 1.3792, 1.3479}},
};

constexpr int kIndexBytes = 4;
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
double longer(DeltaCodec codec, const DeltaElement& element) {
  if (codec == DeltaCodec::overwrite) return element.bytes - kBf16.bytes;
  if (codec == DeltaCodec::nemo_overwrite)
    return (*element.fraction_bits - *kBf16.fraction_bits) / 8.0;
  return 0;
}

}  // namespace

std::string_view name(DeltaCodec codec) {
  constexpr std::string_view names[] = {"rice",     "conditioned", "overwrite",  "nemo_overwrite",
                                        "nemo_xor", "slime_xor",   "index_value"};
  return names[static_cast<std::size_t>(codec)];
}

std::optional<DeltaCodec> delta_codec_named(std::string_view wanted) {
  for (const DeltaCodec codec : kDeltaCodecs) {
    if (name(codec) == wanted) return codec;
  }
  return std::nullopt;
}

double bytes_per_change(DeltaCodec codec, double change_rate, const DeltaElement& element) {
  REFIT_CHECK(change_rate > 0 && change_rate <= 1);
  if (codec == DeltaCodec::index_value) return kIndexBytes + element.bytes;
  const double places = position_bits(change_rate) / 8;
  if (!element.fraction_bits) return places + element.bytes;
  const bool is_bf16 = element.bytes == kBf16.bytes && element.fraction_bits == kBf16.fraction_bits;
  if (codec == DeltaCodec::conditioned && !is_bf16) codec = DeltaCodec::rice;
  const double more = longer(codec, element);
  return places + more +
         beside_places(static_cast<std::size_t>(codec), change_rate, element.bytes - more);
}

}  // namespace refit
