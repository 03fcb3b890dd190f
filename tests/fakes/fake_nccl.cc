#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nccl.h>

#include "tests/fakes/fake_club.h"
#include "tests/fakes/fake_cuda_nccl.h"

using refit::fake::Call;
using refit::fake::Club;
using refit::fake::note_fault;

struct ncclComm {
  std::shared_ptr<Club> club;
  std::uint64_t children = 0;
  // What only happens when the caller polls; nothing while it is still in progress.
  std::function<std::optional<ncclResult_t>()> waiting;
};

namespace {

struct Group {
  struct Part {
    ncclComm* communicator = nullptr;
    cudaStream_t stream = nullptr;
    std::vector<Call> calls;
  };
  int depth = 0;
  std::vector<Part> parts;
};
thread_local Group group;
std::atomic<bool> shrinks_refused{false};

ncclResult_t result_of(Club::State state) {
  switch (state) {
    case Club::State::starting:
      return ncclInProgress;
    case Club::State::ready:
    case Club::State::revoked:
      return ncclSuccess;
    case Club::State::wrong:
      return ncclInternalError;
    default:
      return ncclRemoteError;
  }
}

ncclResult_t misuse(const char* words, ncclResult_t result = ncclInvalidUsage) {
  note_fault(words);
  return result;
}

ncclResult_t add_call(const Call& call, ncclDataType_t type, ncclComm_t communicator,
                      cudaStream_t stream) {
  if (group.depth == 0) return misuse("a send or receive outside a group");
  if (type != ncclUint8 || call.peer < 0 || call.peer >= communicator->club->ranks())
    return ncclInvalidArgument;
  for (Group::Part& part : group.parts) {
    if (part.communicator != communicator || part.stream != stream) continue;
    part.calls.push_back(call);
    return ncclSuccess;
  }
  group.parts.push_back({communicator, stream, {call}});
  return ncclSuccess;
}

bool is_non_blocking(const ncclConfig_t* config) {
  return config != nullptr && config->blocking == 0;
}

ncclComm* make(std::shared_ptr<Club> club) {
  refit::fake::count_object(1);
  auto* communicator = new ncclComm;
  communicator->club = std::move(club);
  return communicator;
}

void leave(ncclComm_t communicator) {
  delete communicator;
  refit::fake::count_object(-1);
}

// The child is there, and its handle may be read, when the parent's polling says so.
ncclResult_t make_child(ncclComm_t parent, const std::vector<int>& members, ncclComm_t* child) {
  const std::uint64_t name = (parent->club->name() * 1000003 + ++parent->children) & ~(1ull << 63);
  auto club = std::make_shared<Club>(*parent->club, name, members);
  *child = nullptr;
  parent->waiting = [club = std::move(club), child]() -> std::optional<ncclResult_t> {
    const ncclResult_t result = result_of(club->state());
    if (result == ncclInProgress) return std::nullopt;
    if (result == ncclSuccess) *child = make(club);
    return result;
  };
  return ncclInProgress;
}

}  // namespace

namespace refit::fake {
void refuse_shrinks(bool on) { shrinks_refused = on; }
}  // namespace refit::fake

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error"
                                   : "stand-in error";
}

const char* ncclGetLastError(ncclComm_t communicator) {
  static thread_local std::string words;
  words = communicator == nullptr ? "" : communicator->club->words();
  return words.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const refit::fake::Root root = refit::fake::open_root();
  static_assert(sizeof root <= sizeof id->internal);
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &root, sizeof root);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (!is_non_blocking(config)) return misuse("a blocking communicator", ncclInvalidArgument);
  refit::fake::Root root;
  std::memcpy(&root, id.internal, sizeof root);
  *communicator = make(std::make_shared<Club>(root.place, root.name, ranks, rank));
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* child,
                           ncclConfig_t* config) {
  if (color != 0 || key != parent->club->rank() || !is_non_blocking(config))
    return ncclInvalidArgument;
  std::vector<int> members;
  for (int r = 0; r < parent->club->ranks(); ++r) members.push_back(r);
  return make_child(parent, members, child);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3)
// Like NCCL 2.28.9, it refuses a communicator that has met an error, unless that was revoked.
ncclResult_t ncclCommShrink(ncclComm_t parent, int* excluded, int count, ncclComm_t* child,
                            ncclConfig_t* config, int flags) {
  Club& club = *parent->club;
  if (count <= 0 || !is_non_blocking(config)) return ncclInvalidArgument;
  if (parent->waiting)
    return misuse("a shrink before the last call was polled", ncclInvalidArgument);
  const std::vector<int> lost(excluded, excluded + count);
  std::vector<int> members;
  for (int r = 0; r < club.ranks(); ++r)
    if (std::ranges::find(lost, r) == lost.end()) members.push_back(r);
  if (std::ranges::find(members, club.rank()) == members.end())
    return misuse("a rank shrinks itself away", ncclInvalidArgument);
  const Club::State state = club.state();
  if (state != Club::State::ready && state != Club::State::revoked) return result_of(state);
  if (shrinks_refused) return ncclInternalError;
  if (state == Club::State::ready && (flags & NCCL_SHRINK_ABORT)) club.stop(Club::State::revoked);
  return make_child(parent, members, child);
}

#endif

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
ncclResult_t ncclCommRevoke(ncclComm_t communicator, int flags) {
  if (flags != NCCL_REVOKE_DEFAULT || communicator->club->state() == Club::State::revoked)
    return ncclInvalidArgument;
  // What the caller has not polled is among what is stopped.
  communicator->waiting = [] { return std::optional(ncclSuccess); };
  communicator->club->stop(Club::State::revoked);
  return ncclInProgress;
}

#endif

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  *state = result_of(communicator->club->state());
  if (!communicator->waiting || *state == ncclInProgress) return ncclSuccess;
  const auto result = communicator->waiting();
  if (!result) {
    if (*state == ncclSuccess) *state = ncclInProgress;
    return ncclSuccess;
  }
  communicator->waiting = nullptr;
  if (*state == ncclSuccess) *state = *result;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  if (communicator->club->state() == Club::State::revoked)
    return misuse("a revoked communicator is finalized", ncclInvalidArgument);
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  leave(communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->waiting = nullptr;  // with it a child that is on its way
  communicator->club->stop(Club::State::aborted);
  leave(communicator);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return add_call({true, const_cast<void*>(from), count, peer}, type, communicator, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return add_call({false, to, count, peer}, type, communicator, stream);
}

ncclResult_t ncclGroupEnd() {
  if (--group.depth > 0) return ncclSuccess;
  const auto parts = std::exchange(group.parts, {});
  for (const Group::Part& part : parts) {
    ncclComm* communicator = part.communicator;
    int to_self = 0;
    for (const Call& call : part.calls) {
      if (call.peer == communicator->club->rank()) to_self += call.sending ? 1 : -1;
    }
    if (to_self != 0)
      return misuse("sends and receives of a rank to itself do not match in a group");
    if (communicator->waiting) note_fault("a group before the last call was polled");
    if (communicator->club->state() == Club::State::revoked)
      return misuse("a group of a revoked communicator");
    communicator->waiting = [part, club = communicator->club] {
      refit::fake::enqueue(part.stream, [=] { club->run(part.calls); });
      return std::optional(ncclSuccess);
    };
  }
  return ncclInProgress;
}

}  // extern "C"
