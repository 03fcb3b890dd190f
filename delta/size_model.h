#pragma once

#include <optional>
#include <string_view>

namespace refit {

// How a plan or a prediction may say that changes travel.
enum class DeltaCodec {
  rice,            // profile P
  conditioned,     // profile C
  overwrite,       // ours, for receivers without trusted old elements
  nemo_overwrite,  // the others: delta/baselines
  nemo_xor,
  slime_xor,
  index_value,
};
inline constexpr DeltaCodec kDeltaCodecs[] = {DeltaCodec::rice,       DeltaCodec::conditioned,
                                              DeltaCodec::overwrite,  DeltaCodec::nemo_overwrite,
                                              DeltaCodec::nemo_xor,   DeltaCodec::slime_xor,
                                              DeltaCodec::index_value};

std::string_view name(DeltaCodec codec);
std::optional<DeltaCodec> delta_codec_named(std::string_view name);

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
double bytes_per_change(DeltaCodec codec, double change_rate, const DeltaElement& element = {});

}  // namespace refit
