#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "models/model_spec.h"

namespace refit::test {

// A row of the checkpoint's q, k or v matrix.
struct QkvRow {
  char matrix = 'q';
  std::int64_t row = 0;

  friend auto operator<=>(const QkvRow&, const QkvRow&) = default;
};

// Where each checkpoint row lies in Megatron's fused matrix, row by row from the formulas: with R
// query heads per group, query head h begins at ((h / R)(R + 2) + h % R) d, the key of group g at
// (g(R + 2) + R) d, its value d rows later. Gates, where there are, lie behind the queries of the
// group; in the checkpoint each lies behind the query of its own head.
inline std::vector<QkvRow> fused_matrix(const HeadGroups& heads) {
  const std::int64_t d = heads.head_dim, ratio = heads.q_heads / heads.kv_heads;
  const std::int64_t with_gates = heads.gated ? 2 * ratio : ratio;
  std::map<std::int64_t, QkvRow> at;
  for (std::int64_t h = 0; h < heads.q_heads; ++h) {
    for (std::int64_t x = 0; x < d; ++x) {
      const std::int64_t query = ((h / ratio) * (with_gates + 2) + h % ratio) * d + x;
      at[query] = {'q', heads.gated ? 2 * h * d + x : h * d + x};
      if (heads.gated) at[query + ratio * d] = {'q', 2 * h * d + d + x};
    }
  }
  for (std::int64_t g = 0; g < heads.kv_heads; ++g) {
    for (std::int64_t x = 0; x < d; ++x) {
      const std::int64_t key = (g * (with_gates + 2) + with_gates) * d + x;
      at[key] = {'k', g * d + x};
      at[key + d] = {'v', g * d + x};
    }
  }
  std::vector<QkvRow> fused;
  for (const auto& [row, content] : at) fused.push_back(content);
  return fused;
}

}  // namespace refit::test
