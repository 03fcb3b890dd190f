#include "models/conversion_totals.h"

#include <algorithm>
#include <cmath>

namespace refit {

std::vector<ConversionTotal> conversion_totals(const Refit& refit) {
  std::vector<ConversionTotal> totals;
  for (const TensorClass& c : refit.classes) {
    for (const Conversion& conversion : c.conversions) {
      const auto same = [&](const ConversionTotal& total) {
        return total.op == conversion.op && total.side == conversion.side &&
               total.words == conversion.words;
      };
      auto total = std::find_if(totals.begin(), totals.end(), same);
      if (total == totals.end()) {
        totals.push_back({conversion.op, conversion.side, conversion.words});
        total = totals.end() - 1;
      }
      const Layout& layout = conversion.side == EdgeSide::source ? c.source : c.destination;
      const auto elements = static_cast<double>(layout.held_elements());
      total->tensors += c.checkpoint_tensors;
      total->read_bytes += std::llround(elements * conversion.read_bytes);
      total->written_bytes += std::llround(elements * conversion.written_bytes);
    }
  }
  std::stable_sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) {
    return a.side == EdgeSide::source && b.side == EdgeSide::destination;
  });
  return totals;
}

}  // namespace refit
