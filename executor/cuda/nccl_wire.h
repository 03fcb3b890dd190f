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
  int ctas = 0;  // thread blocks of each communicator; 0: NCCL's own choice
};

// NCCL point-to-point: one communicator of all ranks per lane, so that lanes never wait for one
// another inside NCCL. Communicators are non-blocking, else a call that waits for a dead peer could
// not be aborted.
//
// Survivors of a lost rank go on like this, all of them, when another channel has told them who is
// lost:
//   revoke()             what is under way ends, and streams run dry
//   can_shrink()         which they tell each other
//   shrink(lost, …)      if all can, else
//   rebuild(rest, …)     with a new id from one of them
class NcclWire : public Wire {
 public:
  // The ranks of the run that take part, ascending, each with its own current device; with the id
  // that one of them made.
  NcclWire(Rank self, std::vector<Rank> members, int lanes, const std::string& id,
           NcclWireOptions options = {});
  ~NcclWire() override;
  NcclWire(const NcclWire&) = delete;
  NcclWire& operator=(const NcclWire&) = delete;

  static std::string make_id();

  // Error(bad_input) if a peer is no member.
  void exchange(int lane, std::span<const WirePart> sends, std::span<const WirePart> receives,
                cudaStream_t stream) override;
  bool is_whole() noexcept override;
  void check() override;
  void abort(const std::string& reason) noexcept override;

  const std::vector<Rank>& members() const { return members_; }
  // NCCL itself has reported an error. It seldom knows which peer is to blame.
  bool is_broken() const { return broken_; }

  // By ncclCommRevoke, from NCCL 2.28.7; before, shrink and rebuild end what is under way, and
  // nothing that the streams use may be freed until then.
  void revoke() noexcept;
  // From NCCL 2.27.3, and if the first lane has met no error that was not revoked since.
  bool can_shrink() const noexcept;
  // By ncclCommShrink of the first lane's communicator; the other lanes are split from it anew, as
  // many as are needed now. Error(environment) if it fails, as with rebuild: then this wire is
  // aborted.
  void shrink(const std::vector<Rank>& lost, int lanes);
  void rebuild(std::vector<Rank> members, int lanes, const std::string& id);

 private:
  void connect(int lanes, const std::string& id);
  void split(int lanes);
  void require(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr);
  void settle(ncclComm_t communicator, const char* call);
  void finish() noexcept;
  void drop_from(std::size_t lane) noexcept;
  int position(Rank rank) const;

  const Rank self_;
  std::vector<Rank> members_;
  NcclWireOptions options_;
  std::vector<ncclComm_t> of_lane_;
  std::string aborted_;
  bool broken_ = false;
  bool revoked_ = false;
};

// "2.28.9", of the library that runs; header and library can differ.
std::string nccl_version();

}  // namespace refit
