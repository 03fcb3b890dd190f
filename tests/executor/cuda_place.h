#pragma once

// The same tests on stand-ins and on a GPU.
#ifdef REFIT_ON_GPU
#define REFIT_PLACE "[.gpu]"
#else
#define REFIT_PLACE "[cuda]"
#include "tests/fakes/fake_cuda_nccl.h"
#endif

namespace refit::test {

// After a test: on stand-ins, nothing may have been misused and nothing may be left.
#ifdef REFIT_ON_GPU
#define REFIT_REQUIRE_CLEAN() ((void)0)
#else
#define REFIT_REQUIRE_CLEAN()                                   \
  do {                                                          \
    REQUIRE(fake::take_faults() == std::vector<std::string>{}); \
    REQUIRE(fake::live_objects() == 0);                         \
  } while (false)
#endif

}  // namespace refit::test
