#pragma once

#include "models/refit.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "sim/memory_use.h"
#include "topology/cluster.h"

namespace refit {

struct MemoryOptions {
  // Packed copies on a rank at once are at most so many bytes per lane and direction: two slots of
  // 64 MiB, which double buffering fills in turn. Between sites, where sockets carry the bytes,
  // there are as many copies in host memory.
  double staging_bytes = 2 * 64.0 * 1024 * 1024;
  // Buffers of one communicator on a rank. An assumption: 16 channels with NCCL's default buffer of
  // 4 MiB (NCCL_BUFFSIZE), for two protocols' worth of peers.
  double communicator_bytes = 2 * 16 * 4.0 * 1024 * 1024;
};

MemoryUse memory_use(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                     const Timeline& timeline, const MemoryOptions& options = {});

// The same by classes of equal ranks and over time, in bounded size: the classes with the highest
// peaks, and `points` of each curve.
struct MemoryBounds {
  std::size_t classes = 16;
  std::size_t points = 32;
};
MemoryByClass memory_by_class(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const Timeline& timeline, const MemoryOptions& options = {},
                              const MemoryBounds& bounds = {});

}  // namespace refit
