#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <unistd.h>

#include "tests/fakes/fake_cuda_nccl.h"

using refit::fake::note_fault;

struct CUstream_st {
  CUstream_st();
  ~CUstream_st();
  void push(std::function<void()> work);
  void drain();
  bool is_idle();

  const int device;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false, stop_ = false;
  std::thread thread_;
};

// Work in a stream may outlive the handle.
struct Marks {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point at;
};

struct CUevent_st {
  std::shared_ptr<Marks> marks = std::make_shared<Marks>();
};

namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr int kFaultExit = 70;
constexpr int kFresh = 0xcd, kFreed = 0xdd, kGuard = 0xfd;

struct Block {
  std::size_t bytes = 0;
  bool pinned = false;
};

struct World {
  std::mutex mutex;
  std::map<const std::byte*, Block> blocks;
  std::vector<std::string> faults;
  bool fatal = false;

  // Of its own, since work in a stream looks at the blocks while somebody waits for the stream.
  std::mutex streams_mutex;
  std::set<CUstream_st*> streams;
};

World& world() {
  static World w;
  return w;
}

std::atomic<int> devices{64}, objects{0}, until_corrupt{-1};
std::atomic<int> struck_rank{-1}, strike_signal{0}, until_strike{0};
thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t outcome(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

cudaError_t allocate(void** at, std::size_t bytes, bool pinned) {
  if (bytes == 0) {
    *at = nullptr;
    return cudaSuccess;
  }
  auto* block =
      static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 2 * kGuardBytes - 1) / 256 * 256));
  if (block == nullptr) return outcome(cudaErrorMemoryAllocation);
  std::memset(block, kFresh, bytes);
  std::memset(block + bytes, kGuard, (bytes + 2 * kGuardBytes - 1) / 256 * 256 - bytes);
  {
    const std::lock_guard lock(world().mutex);
    world().blocks[block] = {bytes, pinned};
  }
  refit::fake::count_object(1);
  *at = block;
  return cudaSuccess;
}

// Waits for everything on the device, as the real call does.
cudaError_t release(void* at, bool pinned) {
  if (at == nullptr) return cudaSuccess;
  {
    // Under the lock: streams of other threads must not be destroyed meanwhile.
    const std::lock_guard lock(world().streams_mutex);
    for (CUstream_st* stream : world().streams) {
      if (stream->device == current_device) stream->drain();
    }
  }
  const std::lock_guard lock(world().mutex);
  const auto found = world().blocks.find(static_cast<std::byte*>(at));
  if (found == world().blocks.end() || found->second.pinned != pinned) {
    world().faults.push_back("an address is freed that was not allocated so");
    return outcome(cudaErrorInvalidValue);
  }
  auto* bytes = static_cast<unsigned char*>(at);
  for (std::size_t i = 0; i < 16; ++i) {
    if (bytes[found->second.bytes + i] == kGuard) continue;
    world().faults.push_back("something wrote behind an allocation");
    break;
  }
  std::memset(at, kFreed, found->second.bytes);
  world().blocks.erase(found);
  std::free(at);
  refit::fake::count_object(-1);
  return cudaSuccess;
}

// The kind of memory an address is in: device, pinned, or null for anything else.
const Block* block_of(const void* at, const std::byte** begin) {
  auto next = world().blocks.upper_bound(static_cast<const std::byte*>(at));
  if (next == world().blocks.begin()) return nullptr;
  --next;
  if (static_cast<const std::byte*>(at) >= next->first + next->second.bytes) return nullptr;
  *begin = next->first;
  return &next->second;
}

bool is_allocated(const void* at) {
  const std::lock_guard lock(world().mutex);
  const std::byte* begin = nullptr;
  return block_of(at, &begin) != nullptr;
}

bool is_pinned(const void* at) {
  const std::lock_guard lock(world().mutex);
  const std::byte* begin = nullptr;
  const Block* block = block_of(at, &begin);
  return block != nullptr && block->pinned;
}

}  // namespace

CUstream_st::CUstream_st() : device(current_device), thread_([this] { run(); }) {}

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CUstream_st::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void CUstream_st::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

bool CUstream_st::is_idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

void CUstream_st::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !queue_.empty() || stop_; });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

namespace refit::fake {

void set_devices(int count) { devices = count; }

std::vector<std::string> take_faults() {
  const std::lock_guard lock(world().mutex);
  return std::exchange(world().faults, {});
}

void end_with_faults() { world().fatal = true; }

void note_fault(const std::string& words) {
  const std::lock_guard lock(world().mutex);
  if (world().fatal) {
    std::fprintf(stderr, "stand-in for CUDA and NCCL: %s\n", words.c_str());
    std::_Exit(kFaultExit);
  }
  if (world().faults.size() < 20) world().faults.push_back(words);
}

void corrupt_message(int n) { until_corrupt = n; }

void strike_rank(int rank, int signal, int messages) {
  struck_rank = rank;
  strike_signal = signal;
  until_strike = messages;
}

void count_message(int receiver) {
  if (receiver == struck_rank && --until_strike == 0) kill(getpid(), strike_signal);
}

int live_objects() { return objects; }
void count_object(int change) { objects += change; }

void enqueue(cudaStream_t stream, std::function<void()> work) { stream->push(std::move(work)); }

bool check_access(const void* at, std::size_t bytes, const char* who) {
  std::string words;
  {
    const std::lock_guard lock(world().mutex);
    const std::byte* begin = nullptr;
    const Block* block = block_of(at, &begin);
    const auto* first = static_cast<const std::byte*>(at);
    if (block == nullptr) {
      words = "touches memory that is not allocated";
    } else if (first + bytes > begin + block->bytes) {
      words = "runs over the end of an allocation";
    }
  }
  if (words.empty()) return true;
  note_fault(std::string(who) + " " + words);
  return false;
}

std::span<const std::byte> allocation_of(const void* at) {
  const std::lock_guard lock(world().mutex);
  const std::byte* begin = nullptr;
  const Block* block = block_of(at, &begin);
  return block == nullptr ? std::span<const std::byte>() : std::span(begin, block->bytes);
}

void pass_message(void* to, const void* from, std::size_t bytes) {
  if (!check_access(to, bytes, "a message") || !check_access(from, bytes, "a message")) return;
  std::memcpy(to, from, bytes);
  arrived(to, bytes);
}

void arrived(void* to, std::size_t bytes) {
  if (bytes > 1 && until_corrupt >= 0 && until_corrupt.fetch_sub(1) == 0)
    static_cast<unsigned char*>(to)[bytes / 2] ^= 0x10;
}

}  // namespace refit::fake

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = devices;
  return outcome(devices > 0 ? cudaSuccess : cudaErrorInsufficientDriver);
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= devices) return outcome(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "stand-in on host memory");
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 30;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInsufficientDriver ? "CUDA driver version is insufficient for CUDA "
                                                "runtime version"
                                              : "stand-in error";
}
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorOfStandIn"; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaMalloc(void** at, std::size_t bytes) { return allocate(at, bytes, false); }
cudaError_t cudaMallocHost(void** at, std::size_t bytes) { return allocate(at, bytes, true); }
cudaError_t cudaFree(void* at) { return release(at, false); }
cudaError_t cudaFreeHost(void* at) { return release(at, true); }

cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  stream->push([=] {
    if (refit::fake::check_access(at, bytes, "cudaMemsetAsync")) std::memset(at, value, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind == cudaMemcpyDeviceToDevice) {
    stream->push([=] { refit::fake::pass_message(to, from, bytes); });
  } else if (kind == cudaMemcpyHostToDevice) {
    // Pinned memory is read when the stream comes to it, other memory before the call returns.
    std::shared_ptr<std::vector<std::byte>> now;
    if (!is_pinned(from)) {
      const auto* first = static_cast<const std::byte*>(from);
      now = std::make_shared<std::vector<std::byte>>(first, first + bytes);
    }
    stream->push([=] {
      if (refit::fake::check_access(to, bytes, "cudaMemcpyAsync"))
        std::memcpy(to, now ? now->data() : from, bytes);
    });
  } else {
    stream->push([=] {
      if (refit::fake::check_access(from, bytes, "cudaMemcpyAsync")) std::memcpy(to, from, bytes);
    });
    if (!is_pinned(to)) stream->drain();
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const void* on_device = is_allocated(to) ? to : from;
  if (!refit::fake::check_access(on_device, bytes, "cudaMemcpy")) return cudaErrorInvalidValue;
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  refit::fake::count_object(1);
  const std::lock_guard lock(world().streams_mutex);
  world().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(world().streams_mutex);
    world().streams.erase(stream);
  }
  delete stream;
  refit::fake::count_object(-1);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream->drain();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return stream->is_idle() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const auto marks = event->marks;
  std::uint64_t mark = 0;
  {
    const std::lock_guard lock(marks->mutex);
    mark = marks->recorded;
  }
  stream->push([marks, mark] {
    std::unique_lock lock(marks->mutex);
    marks->changed.wait(lock, [&] { return marks->reached >= mark; });
  });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  refit::fake::count_object(1);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  refit::fake::count_object(-1);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto marks = event->marks;
  std::uint64_t mark = 0;
  {
    const std::lock_guard lock(marks->mutex);
    mark = ++marks->recorded;
  }
  stream->push([marks, mark] {
    {
      const std::lock_guard lock(marks->mutex);
      marks->reached = std::max(marks->reached, mark);
      marks->at = std::chrono::steady_clock::now();
    }
    marks->changed.notify_all();
  });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(event->marks->mutex);
  return event->marks->reached >= event->marks->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const std::scoped_lock lock(begin->marks->mutex, end->marks->mutex);
  if (begin->marks->reached == 0 || begin->marks->reached < begin->marks->recorded ||
      end->marks->reached == 0 || end->marks->reached < end->marks->recorded) {
    note_fault("the time between events that are not both reached");
    return cudaErrorNotReady;
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->marks->at - begin->marks->at).count();
  return cudaSuccess;
}

}  // extern "C"
