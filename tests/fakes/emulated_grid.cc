#include "tests/fakes/emulated_grid.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/fakes/fake_cuda_nccl.h"
#include "tests/fakes/fibers.h"
#include "tests/fakes/kernel_accesses.h"

namespace refit::fake {

thread_local constinit ThreadIndices thread_indices;
thread_local constinit const FamiliarRanges* familiar_ranges = nullptr;

namespace {

std::atomic<GridOrder> grid_order{GridOrder::forward};
std::atomic<unsigned> grid_seed{0};
std::atomic<bool> races_are_watched{false};

// Stacks are many and launches at one time few.
class FibersPool {
 public:
  std::unique_ptr<Fibers> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Fibers>();
    std::unique_ptr<Fibers> fibers = std::move(free_.back());
    free_.pop_back();
    return fibers;
  }
  void give_back(std::unique_ptr<Fibers> fibers) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(fibers));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Fibers>> free_;
};

FibersPool& pool() {
  static FibersPool fibers;
  return fibers;
}

// Numbers from 0 in the order that is asked for; another one at each shuffle.
class Turns {
 public:
  Turns(unsigned count, GridOrder order, unsigned seed) : order_(order), random_(seed) {
    numbers_.resize(count);
    std::iota(numbers_.begin(), numbers_.end(), 0u);
    if (order == GridOrder::backward) std::reverse(numbers_.begin(), numbers_.end());
  }
  const std::vector<unsigned>& next() {
    if (order_ == GridOrder::shuffled) std::shuffle(numbers_.begin(), numbers_.end(), random_);
    return numbers_;
  }

 private:
  GridOrder order_;
  std::mt19937 random_;
  std::vector<unsigned> numbers_;
};

class Launch {
 public:
  Launch(unsigned blocks, unsigned threads, const KernelCall& call)
      : call_(call),
        fibers_(pool().take()),
        accesses_(range_of(call.arguments, call.bytes),
                  range_of(fibers_->stacks(), Fibers::kMost * Fibers::kStackBytes),
                  races_are_watched),
        blocks_(blocks, grid_order, grid_seed),
        threads_(threads, grid_order, grid_seed + 1),
        waiting_(threads) {
    fibers_->begin(&Launch::begin_threads, this);
    thread_indices.threads = {threads, 1, 1};
    thread_indices.blocks = {blocks, 1, 1};
  }
  ~Launch() { pool().give_back(std::move(fibers_)); }

  void run() {
    for (const unsigned block : blocks_.next()) {
      if (!run_block(block)) return;
    }
  }

  void barrier(int line) {
    waiting_[thread_indices.thread.x].line = line;
    fibers_->pause();
  }

  void access(const void* at, std::size_t bytes, AccessKind kind, std::size_t alignment) {
    const auto refusal = accesses_.refusal(at, bytes, kind, alignment);
    if (!refusal) return;
    note_fault("a kernel " + std::string(*refusal));
    is_broken_ = true;
    fibers_->pause();  // for good
  }

  const FamiliarRanges& familiar() const { return accesses_.familiar(); }

 private:
  struct Waiting {
    int fiber = 0;
    int line = 0;  // of the barrier
  };

  // A fiber runs threads one after another as long as none waits at a barrier.
  static void begin_threads(const void* self) {
    auto* launch = static_cast<Launch*>(const_cast<void*>(self));
    while (launch->begun_ < launch->waiting_.size()) {
      launch->enter((*launch->order_)[launch->begun_++]);
      launch->call_.run(launch->call_.arguments);
      ++launch->ended_;
    }
  }

  void enter(unsigned thread) {
    thread_indices.thread = {thread, 0, 0};
    accesses_.enter({thread_indices.block.x, static_cast<std::uint16_t>(thread), barriers_});
  }
  bool run_block(unsigned block);
  bool run_fiber(int fiber);
  bool all_wait_alike() const;

  KernelCall call_;
  std::unique_ptr<Fibers> fibers_;
  KernelAccesses accesses_;
  Turns blocks_, threads_;

  // Of the block that runs.
  const std::vector<unsigned>* order_ = nullptr;
  std::size_t begun_ = 0, ended_ = 0;
  std::uint16_t barriers_ = 0;    // tells neighbours apart, so it may start over
  std::vector<Waiting> waiting_;  // by thread
  bool is_broken_ = false;
};

// The launch whose thread runs, for what that thread calls.
thread_local constinit Launch* running = nullptr;

void set_running(Launch* launch) {
  running = launch;
  familiar_ranges = launch == nullptr ? nullptr : &launch->familiar();
}

// False if the launch can't go on.
bool Launch::run_block(unsigned block) {
  thread_indices.block = {block, 0, 0};
  accesses_.begin_block();
  begun_ = ended_ = barriers_ = 0;
  order_ = &threads_.next();
  for (int fiber = 0; begun_ < waiting_.size(); ++fiber) {
    if (run_fiber(fiber)) break;
    if (is_broken_) return false;
    waiting_[thread_indices.thread.x].fiber = fiber;
  }
  while (ended_ < waiting_.size()) {
    if (!all_wait_alike()) {
      note_fault("not all threads of a block reach the same barrier");
      return false;
    }
    ++barriers_;
    for (const unsigned thread : threads_.next()) {
      enter(thread);
      run_fiber(waiting_[thread].fiber);
      if (is_broken_) return false;
    }
  }
  return true;
}

bool Launch::run_fiber(int fiber) {
  set_running(this);
  const bool is_through = fibers_->run(fiber);
  set_running(nullptr);
  return is_through;
}

bool Launch::all_wait_alike() const {
  return ended_ == 0 && std::ranges::all_of(waiting_, [&](const Waiting& waiting) {
           return waiting.line == waiting_.front().line;
         });
}

}  // namespace

void set_grid_order(GridOrder order, unsigned seed) {
  grid_order = order;
  grid_seed = seed;
}

void watch_races(bool on) { races_are_watched = on; }

void run_grid(unsigned blocks, unsigned threads, const KernelCall& call) {
  if (blocks == 0 || threads == 0 || threads > Fibers::kMost) {
    note_fault("a launch of no blocks, or of no threads or more than 1024 per block");
    return;
  }
  Launch(blocks, threads, call).run();
}

void barrier(int line) { running->barrier(line); }

void kernel_access(const void* at, std::size_t bytes, AccessKind kind, std::size_t alignment) {
  // Inline functions of the library may be this program's only copy and run anywhere.
  Launch* const launch = running;
  if (launch == nullptr) return;
  set_running(nullptr);
  launch->access(at, bytes, kind, alignment);
  set_running(launch);
}

unsigned long long atomic_add(unsigned long long* at, unsigned long long value) {
  kernel_access(at, sizeof *at, AccessKind::atomic, sizeof *at);
  const unsigned long long before = *at;
  *at = before + value;
  return before;
}

unsigned long long atomic_min(unsigned long long* at, unsigned long long value) {
  kernel_access(at, sizeof *at, AccessKind::atomic, sizeof *at);
  const unsigned long long before = *at;
  *at = std::min(before, value);
  return before;
}

}  // namespace refit::fake
