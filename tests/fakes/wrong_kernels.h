#pragma once

#include <cuda_runtime.h>

namespace refit::fake {

// Kernels with one mistake each, that the emulated grid must find; and one without.
enum class Mistake {
  none,
  no_barrier,        // between a write to shared memory and other threads' reads
  parted_barrier,    // half of the threads wait, the others have ended
  two_barriers,      // all wait, at two places
  plain_add,         // where an atomic one belongs
  two_writers,       // a byte that a thread of every block writes
  behind_the_end,    // of an allocation
  misaligned,        // four bytes at an odd address
  unwritten_shared,  // is read
};

constexpr unsigned kMistakenBlocks = 3, kMistakenThreads = 64;

// `numbers` has one per thread of the grid, each becomes its block's number times 10; `sum` is
// added to by each.
void launch_mistaken(Mistake mistake, unsigned* numbers, unsigned long long* sum,
                     cudaStream_t stream);

}  // namespace refit::fake
