#pragma once

// Puts a kernel into a stream. One call for nvcc and for the tests, which compile kernels as C++
// and bring a `launch` of their own along (tests/fakes/kernel_language.h).
#ifdef __CUDACC__
namespace refit {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            const Arguments&... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

}  // namespace refit
#endif
