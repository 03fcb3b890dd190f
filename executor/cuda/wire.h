#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <cuda_runtime.h>

#include "base/id.h"

namespace refit {

// Dense device bytes that go to one peer or come from it.
struct WirePart {
  Rank peer;
  std::byte* at = nullptr;
  std::int64_t bytes = 0;  // above 0
};

// Carries dense bytes between GPUs, seen from one rank: NCCL, or copies on one device.
class Wire {
 public:
  virtual ~Wire() = default;

  // Puts the sends and receives of one group into the stream; they start and end together. The n-th
  // send on a lane to a peer is the n-th receive on that lane there. May wait for the peers to come
  // this far; when it returns, an event recorded in the stream stands behind the group.
  virtual void exchange(int lane, std::span<const WirePart> sends,
                        std::span<const WirePart> receives, cudaStream_t stream) = 0;

  // Whether nothing has gone wrong here. A group that a peer's death has ended looks, in its
  // stream, as one that is through: what was seen to end before this is true has arrived.
  virtual bool is_whole() noexcept = 0;

  // Error(environment) if the run is lost: a peer failed, or somebody gave up.
  virtual void check() = 0;

  // Ends everything that is under way, here and, as far as it reaches, on the peers.
  virtual void abort(const std::string& reason) noexcept = 0;
};

}  // namespace refit
