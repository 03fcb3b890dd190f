#include "executor/op_times.h"

#include <algorithm>

namespace refit {

std::optional<std::size_t> place_of(OpId op, std::span<const OpId> ops_of_rank) {
  const auto at = std::ranges::lower_bound(ops_of_rank, op);
  if (at == ops_of_rank.end() || *at != op) return std::nullopt;
  return static_cast<std::size_t>(at - ops_of_rank.begin());
}

void merge(const OpTimes& of_rank, Timeline& merged) {
  for (const auto& [op, span] : of_rank) {
    if (span == Span{}) continue;
    Span& all = merged[op.index()];
    if (all == Span{}) {
      all = span;
      continue;
    }
    all.start_s = std::min(all.start_s, span.start_s);
    all.end_s = std::max(all.end_s, span.end_s);
  }
}

}  // namespace refit
