#pragma once

// Before a function that runs on host and device alike. Who compiles kernels as C++ may say what it
// is there (tests/fakes/kernel_language.h).
#ifndef REFIT_HOST_DEVICE
#ifdef __CUDACC__
#define REFIT_HOST_DEVICE __host__ __device__
#else
#define REFIT_HOST_DEVICE
#endif
#endif
