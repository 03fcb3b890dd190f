#include "tests/fakes/wrong_kernels.h"

#include "tests/fakes/kernel_language.h"

namespace refit::fake {
namespace {

__global__ void mistaken(Mistake mistake, unsigned* numbers, unsigned long long* sum) {
  __shared__ unsigned of_block, unwritten;
  const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
  const bool is_first_half = threadIdx.x < blockDim.x / 2;
  if (threadIdx.x == 0) of_block = blockIdx.x * 10;
  if (own == 0) unwritten = 0;  // in one block of three
  if (mistake == Mistake::parted_barrier && is_first_half) return;
  if (mistake == Mistake::two_barriers && is_first_half) {
    __syncthreads();
  } else if (mistake != Mistake::no_barrier) {
    __syncthreads();
  }
  numbers[own] = of_block;
  switch (mistake) {
    case Mistake::plain_add:
      *sum += 1;
      return;
    case Mistake::two_writers:
      if (threadIdx.x == 7) numbers[7] = 0;
      break;
    case Mistake::behind_the_end:
      numbers[own + 1] = of_block;
      break;
    case Mistake::misaligned:
      *reinterpret_cast<unsigned*>(reinterpret_cast<std::byte*>(numbers) + 1) = 0;
      break;
    case Mistake::unwritten_shared:
      numbers[own] += unwritten;
      break;
    default:
      break;
  }
  atomicAdd(sum, 1);
}

}  // namespace

void launch_mistaken(Mistake mistake, unsigned* numbers, unsigned long long* sum,
                     cudaStream_t stream) {
  launch(mistaken, kMistakenBlocks, kMistakenThreads, stream, mistake, numbers, sum);
}

}  // namespace refit::fake
