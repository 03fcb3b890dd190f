#include "delta/baselines/baseline.h"

#include "base/check.h"
#include "delta/baselines/gap_codec.h"
#include "delta/baselines/plain_codecs.h"

namespace refit {

std::string_view name(Baseline baseline) {
  constexpr std::string_view names[] = {"index_value", "nemo_overwrite", "nemo_xor", "slime_xor"};
  return names[static_cast<std::size_t>(baseline)];
}

std::vector<std::byte> encode_baseline(Baseline baseline,
                                       std::span<const std::uint16_t> old_elements,
                                       std::span<const std::uint16_t> new_elements) {
  REFIT_CHECK(old_elements.size() == new_elements.size());
  switch (baseline) {
    case Baseline::index_value:
      return encode_index_value(old_elements, new_elements);
    case Baseline::nemo_overwrite:
      return encode_gaps(old_elements, new_elements, GapValues::overwrite);
    case Baseline::nemo_xor:
      return encode_gaps(old_elements, new_elements, GapValues::mask);
    case Baseline::slime_xor:
      return encode_dense_mask(old_elements, new_elements);
  }
  REFIT_CHECK(false);
}

void apply_baseline(Baseline baseline, std::span<const std::byte> payload,
                    std::span<std::uint16_t> elements) {
  switch (baseline) {
    case Baseline::index_value:
      return apply_index_value(payload, elements);
    case Baseline::nemo_overwrite:
      return apply_gaps(payload, elements, GapValues::overwrite);
    case Baseline::nemo_xor:
      return apply_gaps(payload, elements, GapValues::mask);
    case Baseline::slime_xor:
      return apply_dense_mask(payload, elements);
  }
  REFIT_CHECK(false);
}

}  // namespace refit
