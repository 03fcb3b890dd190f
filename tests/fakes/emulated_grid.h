#pragma once

#include <cstddef>

#include <cuda_runtime.h>

// A grid of threads, run one thread at a time: a block's threads take turns at every barrier, and
// blocks follow one another. A GPU promises no order of either, so a kernel that is right gives the
// same in every order; one that lacks a barrier, or writes where another thread writes, does not.
//
// Faults (fake_cuda_nccl.h) besides a wrong result:
//   - a barrier that not all threads of a block reach;
//   - an access outside every allocation or not aligned to its width, which also ends the launch;
//   - while races are watched, bytes that two threads touch with neither a barrier nor an atomic to
//     keep them apart, and shared memory that is read before it is written.
// Accesses are seen only if the kernel is compiled with -fsanitize=thread, for the calls that this
// puts before each (access_calls.cc). That costs several times the time, so programs that only need
// the kernels' results go without, and so does a build with a sanitizer of its own. Where accesses
// are seen REFIT_ACCESSES_ARE_SEEN is defined.
//
// What it can't see: anything that rests on threads running at once (memory order, a warp's
// lockstep, occupancy), and what nvcc makes of the source.
namespace refit::fake {

enum class GridOrder { forward, backward, shuffled };

// For launches from now on; forward at the start.
void set_grid_order(GridOrder order, unsigned seed = 0);
// Off at the start: it remembers who touched each byte.
void watch_races(bool on);

// A kernel with its arguments, which all threads may read.
struct KernelCall {
  void (*run)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
  std::size_t bytes = 0;
};
void run_grid(unsigned blocks, unsigned threads, const KernelCall& call);

// What a thread of a kernel sees.
struct ThreadIndices {
  uint3 thread = {}, block = {}, threads = {}, blocks = {};
};
extern thread_local constinit ThreadIndices thread_indices;
void barrier(int line);
unsigned long long atomic_add(unsigned long long* at, unsigned long long value);
unsigned long long atomic_min(unsigned long long* at, unsigned long long value);

}  // namespace refit::fake
