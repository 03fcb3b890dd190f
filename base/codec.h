#pragma once

#include <span>
#include <string_view>

namespace refit {

// How changes of weights are written down (docs/delta.md).
enum class Codec {
  rice,            // gaps between changes in Rice code, integer differences of the bit patterns
  conditioned,     // the same, with positions predicted from the receiver's old weights
  nemo_xor,        // NeMo RL: 16-bit gaps and XOR masks, zstd level 1
  nemo_overwrite,  // NeMo RL: 16-bit gaps and new values, zstd level 1
};

std::string_view to_string(Codec codec);
std::span<const Codec> codecs();

}  // namespace refit
