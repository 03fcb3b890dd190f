#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <nccl.h>

#include "tests/fakes/fake_cuda_nccl.h"

namespace {

// All ranks of a communicator.
struct Club {
  struct Post {
    const void* at = nullptr;
    std::size_t bytes = 0;
    bool taken = false;
  };
  std::mutex mutex;
  std::condition_variable changed;
  int ranks = 0, joined = 0;
  bool aborted = false;
  std::string fault;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Post>>> posts;  // sender, receiver
  std::map<int, std::shared_ptr<Club>> children;                           // by count of splits
};

struct Call {
  bool sending = false;
  void* at = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};

using Id = std::array<char, NCCL_UNIQUE_ID_BYTES>;
std::mutex clubs_mutex;
std::map<Id, std::shared_ptr<Club>> clubs;
int next_id = 1;

}  // namespace

struct ncclComm {
  std::shared_ptr<Club> club;
  int rank = 0;
  int splits = 0;
  // What only happens when the caller polls.
  std::function<void()> waiting;
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

void break_club(Club& club, const std::string& words) {
  if (club.fault.empty()) club.fault = words;
  club.changed.notify_all();
}

// A safety net, far beyond any wait of a test that is right.
constexpr auto kPatience = std::chrono::seconds(60);

// Runs in the stream.
void run_calls(const std::shared_ptr<Club>& club, int rank, const std::vector<Call>& calls) {
  std::unique_lock lock(club->mutex);
  const auto wait = [&](const char* what, int peer, const auto& condition) {
    const bool came = club->changed.wait_for(
        lock, kPatience, [&] { return condition() || club->aborted || !club->fault.empty(); });
    if (!came) {
      const std::string words = "rank " + std::to_string(rank) + what + std::to_string(peer);
      refit::fake::note_fault(words);
      break_club(*club, words);
    }
    return !club->aborted && club->fault.empty();
  };
  std::vector<std::pair<int, std::shared_ptr<Club::Post>>> mine;
  for (const Call& call : calls) {
    if (!call.sending) continue;
    mine.emplace_back(call.peer,
                      std::make_shared<Club::Post>(Club::Post{call.at, call.bytes, false}));
    club->posts[{rank, call.peer}].push_back(mine.back().second);
  }
  club->changed.notify_all();
  for (const Call& call : calls) {
    if (call.sending) continue;
    auto& queue = club->posts[{call.peer, rank}];
    if (!wait(" waits in vain to receive from rank ", call.peer, [&] { return !queue.empty(); }))
      return;
    const auto post = queue.front();
    queue.pop_front();
    if (post->bytes != call.bytes) {
      const std::string words = "rank " + std::to_string(call.peer) + " sends " +
                                std::to_string(post->bytes) + " bytes where rank " +
                                std::to_string(rank) + " expects " + std::to_string(call.bytes);
      refit::fake::note_fault(words);
      break_club(*club, words);
      return;
    }
    refit::fake::pass_message(call.at, post->at, call.bytes);
    post->taken = true;
    club->changed.notify_all();
  }
  for (const auto& [peer, post] : mine) {
    if (!wait(" waits in vain for its send to rank ", peer, [&] { return post->taken; })) return;
  }
}

ncclResult_t add_call(const Call& call, ncclDataType_t type, ncclComm_t communicator,
                      cudaStream_t stream) {
  if (group.depth == 0) {
    refit::fake::note_fault("a send or receive outside a group");
    return ncclInvalidUsage;
  }
  if (type != ncclUint8 || call.peer < 0 || call.peer >= communicator->club->ranks)
    return ncclInvalidArgument;
  for (Group::Part& part : group.parts) {
    if (part.communicator != communicator || part.stream != stream) continue;
    part.calls.push_back(call);
    return ncclSuccess;
  }
  group.parts.push_back({communicator, stream, {call}});
  return ncclSuccess;
}

ncclComm* join(const std::shared_ptr<Club>& club, int ranks, int rank) {
  refit::fake::count_object(1);
  {
    const std::lock_guard lock(club->mutex);
    club->ranks = ranks;
    ++club->joined;
  }
  club->changed.notify_all();
  auto* communicator = new ncclComm;
  communicator->club = club;
  communicator->rank = rank;
  return communicator;
}

void leave(ncclComm_t communicator) {
  delete communicator;
  refit::fake::count_object(-1);
}

}  // namespace

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
  words.clear();
  if (communicator != nullptr) {
    const std::lock_guard lock(communicator->club->mutex);
    words = communicator->club->fault;
  }
  return words.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(clubs_mutex);
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &next_id, sizeof next_id);
  ++next_id;
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config == nullptr || config->blocking != 0) {
    refit::fake::note_fault("a blocking communicator");
    return ncclInvalidArgument;
  }
  Id key;
  std::memcpy(key.data(), id.internal, key.size());
  std::shared_ptr<Club> club;
  {
    const std::lock_guard lock(clubs_mutex);
    auto& entry = clubs[key];
    if (entry == nullptr) entry = std::make_shared<Club>();
    club = entry;
  }
  *communicator = join(club, ranks, rank);
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* child,
                           ncclConfig_t* config) {
  if (color != 0 || config == nullptr || config->blocking != 0) return ncclInvalidArgument;
  std::shared_ptr<Club> club;
  {
    const std::lock_guard lock(parent->club->mutex);
    auto& entry = parent->club->children[parent->splits++];
    if (entry == nullptr) entry = std::make_shared<Club>();
    club = entry;
  }
  parent->waiting = [=, ranks = parent->club->ranks] { *child = join(club, ranks, key); };
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  if (communicator->waiting) std::exchange(communicator->waiting, nullptr)();
  Club& club = *communicator->club;
  const std::lock_guard lock(club.mutex);
  *state = club.aborted               ? ncclRemoteError
           : !club.fault.empty()      ? ncclInternalError
           : club.joined < club.ranks ? ncclInProgress
                                      : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclInProgress; }

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  leave(communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  {
    const std::lock_guard lock(communicator->club->mutex);
    communicator->club->aborted = true;
  }
  communicator->club->changed.notify_all();
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
      if (call.peer == communicator->rank) to_self += call.sending ? 1 : -1;
    }
    if (to_self != 0) {
      refit::fake::note_fault("sends and receives of a rank to itself do not match in a group");
      return ncclInvalidUsage;
    }
    if (communicator->waiting) refit::fake::note_fault("a group before the last call was polled");
    communicator->waiting = [part, club = communicator->club, rank = communicator->rank] {
      refit::fake::enqueue(part.stream, [=] { run_calls(club, rank, part.calls); });
    };
  }
  return ncclInProgress;
}

}  // extern "C"
