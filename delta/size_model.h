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

// Bytes on the wire per changed BF16 element when this share of all elements, more than 0 and at
// most 1, changes as an optimiser's steps change them. Interpolated between measurements on the
// seeded updater (docs/delta.md); beyond them, as the places' entropy goes. Uniformly scattered
// changes cost `conditioned` as much as `rice`, and both of these less than said here.
double bytes_per_change(DeltaCodec codec, double change_rate);

// Dense bytes per second that one processor core scans and encodes, or decodes and applies, at
// about 1 % changed (docs/delta.md#speed). More cores add up until memory is the limit: two streams
// are read to encode.
struct CodecRates {
  double encode_bytes_per_s = 0, apply_bytes_per_s = 0;
};
CodecRates core_rates(DeltaCodec codec);

}  // namespace refit
