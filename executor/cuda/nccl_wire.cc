#include "executor/cuda/nccl_wire.h"

#include <cstring>
#include <utility>

#include "executor/cuda/nccl_check.h"
#include "executor/cuda/patience.h"

namespace refit {
namespace {

ncclConfig_t non_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  config.commName = "refit";
#endif
  return config;
}

}  // namespace

std::string nccl_version() {
  int version = 0;
  nccl_check(ncclGetVersion(&version), "ncclGetVersion");
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string NcclWire::make_id() {
  ncclUniqueId id;
  nccl_check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return std::string(id.internal, sizeof id.internal);
}

NcclWire::NcclWire(Rank self, int ranks, int lanes, const std::string& id, NcclWireOptions options)
    : options_(std::move(options)) {
  ncclUniqueId unique;
  if (id.size() != sizeof unique.internal) {
    throw Error(ErrorCode::environment,
                fmt::format("the NCCL id has {} bytes instead of {}; all ranks must run the same "
                            "program",
                            id.size(), sizeof unique.internal));
  }
  std::memcpy(unique.internal, id.data(), sizeof unique.internal);
  try {
    ncclConfig_t config = non_blocking();
    ncclComm_t first = nullptr;
    const ncclResult_t status = ncclCommInitRankConfig(&first, ranks, unique, self.value, &config);
    if (first != nullptr) of_lane_.push_back(first);
    nccl_check(status, "ncclCommInitRankConfig", first);
    settle(first, "ncclCommInitRankConfig");
    for (int lane = 1; lane < lanes; ++lane) {
      ncclConfig_t of_child = non_blocking();
      ncclComm_t child = nullptr;
      nccl_check(ncclCommSplit(first, 0, self.value, &child, &of_child), "ncclCommSplit", first);
      settle(first, "ncclCommSplit");  // the child's handle is not to be read before
      of_lane_.push_back(child);
      settle(child, "ncclCommSplit");
    }
  } catch (const Error& error) {
    abort(error.what());
    throw;
  }
}

NcclWire::~NcclWire() {
  if (aborted_.empty()) finish();
}

void NcclWire::finish() noexcept {
  try {
    for (const ncclComm_t communicator : of_lane_) {
      nccl_check(ncclCommFinalize(communicator), "ncclCommFinalize", communicator);
      settle(communicator, "ncclCommFinalize");
    }
    // Children first: they may share the parent's resources.
    while (!of_lane_.empty()) {
      nccl_check(ncclCommDestroy(of_lane_.back()), "ncclCommDestroy");
      of_lane_.pop_back();
    }
  } catch (const std::exception& error) {
    abort(error.what());
  }
}

void NcclWire::exchange(int lane, std::span<const WirePart> sends,
                        std::span<const WirePart> receives, cudaStream_t stream) {
  const ncclComm_t communicator = of_lane_.at(static_cast<std::size_t>(lane));
  nccl_check(ncclGroupStart(), "ncclGroupStart");
  for (const WirePart& part : sends) {
    nccl_check(ncclSend(part.at, static_cast<std::size_t>(part.bytes), ncclUint8, part.peer.value,
                        communicator, stream),
               "ncclSend", communicator);
  }
  for (const WirePart& part : receives) {
    nccl_check(ncclRecv(part.at, static_cast<std::size_t>(part.bytes), ncclUint8, part.peer.value,
                        communicator, stream),
               "ncclRecv", communicator);
  }
  nccl_check(ncclGroupEnd(), "ncclGroupEnd", communicator);
  // Until then the kernel may not be in the stream, and an event would overtake it.
  settle(communicator, "ncclGroupEnd");
}

void NcclWire::settle(ncclComm_t communicator, const char* call) {
  Patience patience(options_.timeout_s);
  while (true) {
    ncclResult_t state = ncclInProgress;
    nccl_check(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError", communicator);
    nccl_check(state, call, communicator);
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

void NcclWire::check() {
  if (!aborted_.empty()) throw Error(ErrorCode::environment, aborted_);
  for (const ncclComm_t communicator : of_lane_) {
    ncclResult_t state = ncclSuccess;
    nccl_check(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError", communicator);
    nccl_check(state, "NCCL", communicator);
  }
  options_.check_peers();
}

void NcclWire::abort(const std::string& reason) noexcept {
  if (!aborted_.empty()) return;
  aborted_ = reason.empty() ? "aborted" : reason;
  // The outcome changes nothing: all that is left to do is to leave.
  while (!of_lane_.empty()) {
    ncclCommAbort(of_lane_.back());
    of_lane_.pop_back();
  }
}

}  // namespace refit
