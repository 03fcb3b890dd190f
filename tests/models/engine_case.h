#pragma once

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "models/import/hf_config.h"
#include "models/megatron.h"
#include "models/parallelism.h"
#include "models/vllm.h"

namespace refit::test {

// The message with which something is refused as bad input, or nothing.
inline std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

inline const TensorSpec& tensor_named(const ModelSpec& model, const std::string& name) {
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no tensor " << name);
  return model.tensors.front();
}

// The layout of one tensor in the stage that holds it.
inline Layout layout_of(const Parallelism& side, const TensorSpec& tensor) {
  return side.layout(tensor, side.stage_of(tensor), 1);
}

// The position of a rank in a layout's mesh; -1 if it is not there.
inline int index_of(const Layout& layout, Rank rank) {
  const std::vector<Rank> ranks = layout.mesh().ranks();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == rank) return static_cast<int>(i);
  }
  return -1;
}

// What a rank holds of a dim (0 is the tensor's own first).
inline IntervalSet held(const Layout& layout, Rank rank, int dim) {
  const int index = index_of(layout, rank);
  return index < 0 ? IntervalSet() : layout.shard(index)[static_cast<std::size_t>(dim) + 1];
}

inline IntervalSet rows(std::vector<Interval> intervals) {
  return IntervalSet::of(std::move(intervals));
}

}  // namespace refit::test
