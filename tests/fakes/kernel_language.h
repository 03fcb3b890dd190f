#pragma once

#include <tuple>

#include "tests/fakes/emulated_grid.h"
#include "tests/fakes/fake_cuda_nccl.h"

// What the language of kernels has over C++, as far as our kernels use it, for a .cu file that is
// included after this. <cuda_runtime.h> has the rest: uint4, and __global__ and the like as
// nothing.

// Into the kernel's own object, where its accesses are seen.
#define REFIT_HOST_DEVICE __attribute__((always_inline))
#undef __shared__
#define __shared__ static thread_local  // launches of other streams run at the same time
#define __launch_bounds__(threads)

#define threadIdx (refit::fake::thread_indices.thread)
#define blockIdx (refit::fake::thread_indices.block)
#define blockDim (refit::fake::thread_indices.threads)
#define gridDim (refit::fake::thread_indices.blocks)

inline void __syncthreads(int line = __builtin_LINE()) { refit::fake::barrier(line); }

inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long value) {
  return refit::fake::atomic_add(at, value);
}
inline unsigned long long atomicMin(unsigned long long* at, unsigned long long value) {
  return refit::fake::atomic_min(at, value);
}

namespace refit {
namespace fake {

template <class... Parameters>
struct BoundKernel {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  static void run(const void* self) {
    const auto* bound = static_cast<const BoundKernel*>(self);
    std::apply(bound->kernel, bound->arguments);
  }
};

}  // namespace fake

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            const Arguments&... arguments) {
  using Bound = fake::BoundKernel<Parameters...>;
  fake::enqueue(stream, [blocks, threads, bound = Bound{kernel, {arguments...}}] {
    fake::run_grid(blocks, threads, {&Bound::run, &bound, sizeof bound});
  });
}

}  // namespace refit
