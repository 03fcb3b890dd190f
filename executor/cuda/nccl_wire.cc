#include "executor/cuda/nccl_wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/cuda/nccl_check.h"
#include "executor/cuda/patience.h"

namespace refit {
namespace {

ncclConfig_t non_blocking(int ctas) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (ctas > 0) config.minCTAs = config.maxCTAs = ctas;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  config.commName = "refit";
#endif
  return config;
}

int library_version() {
  int version = 0;
  nccl_check(ncclGetVersion(&version), "ncclGetVersion");
  return version;
}

}  // namespace

std::string nccl_version() {
  const int version = library_version();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string NcclWire::make_id() {
  ncclUniqueId id;
  nccl_check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return std::string(id.internal, sizeof id.internal);
}

NcclWire::NcclWire(Rank self, std::vector<Rank> members, int lanes, const std::string& id,
                   NcclWireOptions options)
    : self_(self), members_(std::move(members)), options_(std::move(options)) {
  connect(lanes, id);
}

NcclWire::~NcclWire() {
  if (aborted_.empty()) finish();
}

void NcclWire::connect(int lanes, const std::string& id) {
  ncclUniqueId unique;
  if (id.size() != sizeof unique.internal) {
    throw Error(ErrorCode::environment,
                fmt::format("the NCCL id has {} bytes instead of {}; all ranks must run the same "
                            "program",
                            id.size(), sizeof unique.internal));
  }
  std::memcpy(unique.internal, id.data(), sizeof unique.internal);
  const int self = position(self_);
  try {
    ncclConfig_t config = non_blocking(options_.ctas);
    ncclComm_t first = nullptr;
    const ncclResult_t status =
        ncclCommInitRankConfig(&first, static_cast<int>(members_.size()), unique, self, &config);
    if (first != nullptr) of_lane_.push_back(first);
    require(status, "ncclCommInitRankConfig", first);
    settle(first, "ncclCommInitRankConfig");
    split(lanes);
  } catch (const Error& error) {
    abort(error.what());
    throw;
  }
}

// From the first lane's communicator, those of the others.
void NcclWire::split(int lanes) {
  const ncclComm_t first = of_lane_.front();
  const int self = position(self_);
  for (int lane = 1; lane < lanes; ++lane) {
    ncclConfig_t config = non_blocking(options_.ctas);
    ncclComm_t child = nullptr;
    require(ncclCommSplit(first, 0, self, &child, &config), "ncclCommSplit", first);
    settle(first, "ncclCommSplit");  // the child's handle is not to be read before
    of_lane_.push_back(child);
    settle(child, "ncclCommSplit");
  }
}

void NcclWire::require(ncclResult_t status, const char* call, ncclComm_t communicator) {
  if (status != ncclSuccess && status != ncclInProgress) broken_ = true;
  nccl_check(status, call, communicator);
}

int NcclWire::position(Rank rank) const {
  const auto at = std::ranges::lower_bound(members_, rank);
  if (at == members_.end() || *at != rank) {
    throw Error(ErrorCode::bad_input,
                fmt::format("rank {} has no part in these communicators", rank.value));
  }
  return static_cast<int>(at - members_.begin());
}

void NcclWire::finish() noexcept {
  try {
    if (revoked_) return drop_from(0);  // to finalize them is an error
    for (const ncclComm_t communicator : of_lane_) {
      require(ncclCommFinalize(communicator), "ncclCommFinalize", communicator);
      settle(communicator, "ncclCommFinalize");
    }
    // Children first: they may share the parent's resources.
    while (!of_lane_.empty()) {
      require(ncclCommDestroy(of_lane_.back()), "ncclCommDestroy");
      of_lane_.pop_back();
    }
  } catch (const std::exception& error) {
    abort(error.what());
  }
}

void NcclWire::exchange(int lane, std::span<const WirePart> sends,
                        std::span<const WirePart> receives, cudaStream_t stream) {
  if (!aborted_.empty()) throw Error(ErrorCode::environment, aborted_);
  const ncclComm_t communicator = of_lane_.at(static_cast<std::size_t>(lane));
  std::vector<int> peers;  // before the group, which must be ended once it is begun
  for (const WirePart& part : sends) peers.push_back(position(part.peer));
  for (const WirePart& part : receives) peers.push_back(position(part.peer));
  auto peer = peers.begin();
  require(ncclGroupStart(), "ncclGroupStart");
  for (const WirePart& part : sends) {
    require(ncclSend(part.at, static_cast<std::size_t>(part.bytes), ncclUint8, *peer++,
                     communicator, stream),
            "ncclSend", communicator);
  }
  for (const WirePart& part : receives) {
    require(ncclRecv(part.at, static_cast<std::size_t>(part.bytes), ncclUint8, *peer++,
                     communicator, stream),
            "ncclRecv", communicator);
  }
  require(ncclGroupEnd(), "ncclGroupEnd", communicator);
  // Until then the kernel may not be in the stream, and an event would overtake it.
  settle(communicator, "ncclGroupEnd");
}

void NcclWire::settle(ncclComm_t communicator, const char* call) {
  Patience patience(options_.timeout_s);
  while (true) {
    ncclResult_t state = ncclInProgress;
    require(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError", communicator);
    require(state, call, communicator);
    if (state == ncclSuccess) return;
    options_.check_peers();
    if (patience.is_over()) {
      throw Error(ErrorCode::environment,
                  fmt::format("{}: still in progress after {} s; a rank is missing or stuck", call,
                              options_.timeout_s));
    }
    patience.pause();
  }
}

bool NcclWire::is_whole() noexcept {
  if (!aborted_.empty()) return false;
  for (const ncclComm_t communicator : of_lane_) {
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(communicator, &state) != ncclSuccess ||
        (state != ncclSuccess && state != ncclInProgress))
      broken_ = true;
  }
  return !broken_;
}

void NcclWire::check() {
  if (!aborted_.empty()) throw Error(ErrorCode::environment, aborted_);
  for (const ncclComm_t communicator : of_lane_) {
    ncclResult_t state = ncclSuccess;
    require(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError", communicator);
    require(state, "NCCL", communicator);
  }
  options_.check_peers();
}

// The outcome changes nothing: all that is left to do is to leave.
void NcclWire::drop_from(std::size_t lane) noexcept {
  while (of_lane_.size() > lane) {
    ncclCommAbort(of_lane_.back());
    of_lane_.pop_back();
  }
}

void NcclWire::abort(const std::string& reason) noexcept {
  if (!aborted_.empty()) return;
  aborted_ = reason.empty() ? "aborted" : reason;
  drop_from(0);
}

void NcclWire::revoke() noexcept {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
  try {
    if (revoked_ || library_version() < NCCL_VERSION(2, 28, 7)) return;
    for (const ncclComm_t communicator : of_lane_) {
      require(ncclCommRevoke(communicator, NCCL_REVOKE_DEFAULT), "ncclCommRevoke", communicator);
      settle(communicator, "ncclCommRevoke");
    }
    revoked_ = true;
  } catch (const std::exception&) {
    // can_shrink will say no, and rebuild needs nothing of what is there.
  }
#endif
}

bool NcclWire::can_shrink() const noexcept {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3)
  int version = 0;
  if (!aborted_.empty() || ncclGetVersion(&version) != ncclSuccess) return false;
  ncclResult_t state = ncclInternalError;
  return version >= NCCL_VERSION(2, 27, 3) &&
         ncclCommGetAsyncError(of_lane_.front(), &state) == ncclSuccess && state == ncclSuccess;
#else
  return false;
#endif
}

void NcclWire::shrink(const std::vector<Rank>& lost, int lanes) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3)
  std::vector<int> excluded;
  for (const Rank rank : lost) excluded.push_back(position(rank));
  drop_from(1);  // first: what they have under way may hold the device
  try {
    const ncclComm_t old = of_lane_.front();
    ncclConfig_t config = non_blocking(options_.ctas);
    ncclComm_t smaller = nullptr;
    require(ncclCommShrink(old, excluded.data(), static_cast<int>(excluded.size()), &smaller,
                           &config, NCCL_SHRINK_ABORT),
            "ncclCommShrink", old);
    settle(old, "ncclCommShrink");  // the child's handle is not to be read before
    drop_from(0);
    of_lane_.push_back(smaller);
    settle(smaller, "ncclCommShrink");
    std::erase_if(members_, [&](Rank rank) { return std::ranges::find(lost, rank) != lost.end(); });
    broken_ = revoked_ = false;
    split(lanes);
  } catch (const Error& error) {
    abort(error.what());
    throw;
  }
#else
  (void)lanes;
  throw Error(ErrorCode::environment,
              fmt::format("this program was built with NCCL {}.{}, which has no ncclCommShrink, so "
                          "rank {} and others can't be left out",
                          NCCL_MAJOR, NCCL_MINOR, lost.front().value));
#endif
}

void NcclWire::rebuild(std::vector<Rank> members, int lanes, const std::string& id) {
  drop_from(0);
  members_ = std::move(members);
  aborted_.clear();
  broken_ = revoked_ = false;
  connect(lanes, id);
}

}  // namespace refit
