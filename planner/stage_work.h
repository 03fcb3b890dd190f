#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "models/refit.h"

namespace refit {

// Conversions of one side: steps times tensors, and what its busiest rank reads and writes in them.
struct ConvertWork {
  std::int64_t steps = 0;
  std::int64_t bytes = 0;
};

// What software handles one by one in a pipeline stage, for the tensors that a strategy moves. The
// costs of these counts are a network model's; the counts follow from the layouts alone.
struct StageWork {
  std::vector<Rank> sources;       // ascending: ranks that hold the stage
  std::int64_t bytes = 0;          // of the stage, once
  std::int64_t calls = 0;          // transport calls: one per tensor, experts of a layer as one
  std::int64_t shard_calls = 0;    // the same, but one per shard of a tensor
  std::int64_t stacked_calls = 0;  // calls whose expert matrices one trainer regroups
  std::int64_t exports = 0;        // collectives that gather the stage's parameters one by one
  std::int64_t checkpoint_tensors = 0;  // tensors that an engine's loader takes
  std::int64_t packed_bytes = 0;        // of one trainer's shards (the largest)
  std::int64_t packed_runs = 0;         // contiguous pieces of these, by the destinations' cuts
  ConvertWork convert_before;           // the stage is sent, on its sources
  ConvertWork convert_after;            // it has arrived, on destinations
};

// One entry per source stage. Classes for which `mine` is false are left out, here and below.
// `shares`: by class, of its bytes, what travels; empty: all of them. As much of its experts is
// regrouped, and lands.
std::vector<StageWork> stage_work(const Refit& refit, const std::vector<bool>& mine,
                                  std::span<const double> shares = {});

ConvertWork convert_work(const Refit& refit, const std::vector<bool>& mine, EdgeSide side);

// Tensors that an engine's loader takes of these.
std::int64_t checkpoint_tensors(const Refit& refit, const std::vector<bool>& mine);

// What these tensors leave on one destination rank (the largest), and in how many contiguous pieces
// they come there, by the sources' cuts; at least one.
struct LandWork {
  std::int64_t bytes = 0;
  std::int64_t runs = 1;
};

LandWork land_work(const Refit& refit, const std::vector<bool>& mine,
                   std::span<const double> shares = {});

}  // namespace refit
