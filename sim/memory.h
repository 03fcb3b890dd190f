#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/refit.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "topology/cluster.h"

namespace refit {

// What a refit keeps on a GPU while it runs.
enum class MemoryTerm {
  source_shards,       // weights that training holds
  destination_shards,  // weights that the engine holds
  buckets,             // what a collective gathers or broadcasts, on every rank of its group
  relayed,             // content that a rank only hands on
  staging,             // packed copies of what is being sent and received
  communicators,       // buffers of the transport, one per lane in use
};
constexpr std::size_t kMemoryTerms = 6;
std::string_view to_string(MemoryTerm term);

struct MemoryOptions {
  // Packed copies on a rank at once are at most so many bytes per lane and direction: two slots of
  // 64 MiB, which double buffering fills in turn.
  double staging_bytes = 2 * 64.0 * 1024 * 1024;
  // Buffers of one communicator on a rank. An assumption: 16 channels with NCCL's default buffer of
  // 4 MiB (NCCL_BUFFSIZE), for two protocols' worth of peers.
  double communicator_bytes = 2 * 16 * 4.0 * 1024 * 1024;
};

struct RankMemoryUse {
  std::array<double, kMemoryTerms> bytes{};  // at the moment of the peak
  double total() const;
  MemoryTerm dominant() const;
};

// The peak of each rank over the time of the refit. What training and serving need besides
// (optimizer, activations, KV cache) is not in it.
struct MemoryUse {
  std::vector<RankMemoryUse> peak;  // by rank
  Rank largest;
  std::optional<Rank> first_over;  // the first rank whose peak exceeds its GPU's memory, if known
};

MemoryUse memory_use(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                     const Timeline& timeline, const MemoryOptions& options = {});

}  // namespace refit
