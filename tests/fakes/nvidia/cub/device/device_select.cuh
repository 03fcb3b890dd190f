#pragma once

#include <cstddef>

#include "tests/fakes/kernel_language.h"

// Stands in for CUB's: what its documentation promises of DeviceSelect::If, and no line of how CUB
// does it. Without a workspace a call says how large one must be; with one it writes the chosen
// items in their order, and how many, in the stream's turn.
namespace cub {

template <class In, class Out, class Count, class Choose>
void select_in_order(std::byte* workspace, std::size_t workspace_bytes, In in, Out* out,
                     Count* count, int items, Choose choose) {
  for (std::size_t i = 0; i < workspace_bytes; ++i) workspace[i] = std::byte{0x5e};
  Count chosen = 0;
  for (int i = 0; i < items; ++i) {
    if (choose(in[i])) out[chosen++] = in[i];
  }
  *count = chosen;
}

struct DeviceSelect {
  template <class In, class Out, class Count, class Choose>
  static cudaError_t If(void* workspace, std::size_t& workspace_bytes, In in, Out* out,
                        Count* count, int items, Choose choose, cudaStream_t stream) {
    const std::size_t needed = 256 + static_cast<std::size_t>(items) / 64;
    if (workspace == nullptr) {
      workspace_bytes = needed;
      return cudaSuccess;
    }
    if (workspace_bytes < needed) return cudaErrorInvalidValue;
    refit::launch(select_in_order<In, Out, Count, Choose>, 1, 1, stream,
                  static_cast<std::byte*>(workspace), needed, in, out, count, items, choose);
    return cudaSuccess;
  }
};

}  // namespace cub
