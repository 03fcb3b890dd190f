#include "base/codec.h"

#include <array>

namespace refit {

std::string_view to_string(Codec codec) {
  switch (codec) {
    case Codec::rice:
      return "rice";
    case Codec::conditioned:
      return "conditioned";
    case Codec::nemo_xor:
      return "nemo_xor";
    case Codec::nemo_overwrite:
      return "nemo_overwrite";
  }
  return "?";
}

std::span<const Codec> codecs() {
  static constexpr std::array kAll = {Codec::rice, Codec::conditioned, Codec::nemo_xor,
                                      Codec::nemo_overwrite};
  return kAll;
}

}  // namespace refit
