#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nccl.h>

#include "executor/cuda/wire.h"

namespace refit {

struct NcclWireOptions {
  double timeout_s = 60;  // of a call that all ranks must make
  // Called while this rank waits; throws Error if another channel knows that the run is lost. A
  // dead peer behind NVLink need not show in NCCL.
  std::function<void()> check_peers = [] {};
};

// NCCL point-to-point: one communicator of all ranks per lane, so that lanes never wait for one
// another inside NCCL. Communicators are non-blocking, else a call that waits for a dead peer could
// not be aborted.
class NcclWire : public Wire {
 public:
  // All ranks of the run, each with its own current device, with the id that one of them made.
  NcclWire(Rank self, int ranks, int lanes, const std::string& id, NcclWireOptions options = {});
  ~NcclWire() override;
  NcclWire(const NcclWire&) = delete;
  NcclWire& operator=(const NcclWire&) = delete;

  static std::string make_id();

  void exchange(int lane, std::span<const WirePart> sends, std::span<const WirePart> receives,
                cudaStream_t stream) override;
  void check() override;
  void abort(const std::string& reason) noexcept override;

 private:
  void settle(ncclComm_t communicator, const char* call);
  void finish() noexcept;

  NcclWireOptions options_;
  std::vector<ncclComm_t> of_lane_;
  std::string aborted_;
};

// "2.28.9", of the library that runs; header and library can differ.
std::string nccl_version();

}  // namespace refit
