#pragma once

#include <array>

#include <catch2/catch.hpp>

// The same tests on stand-ins and on a GPU.
#ifdef REFIT_ON_GPU
#define REFIT_PLACE "[.gpu]"
#else
#define REFIT_PLACE "[cuda]"
#include "tests/fakes/emulated_grid.h"
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

// While it lives, kernels run with an eye on races and in one order of threads and blocks that a
// GPU may take; a GPU takes its own.
class GridRun {
 public:
#ifdef REFIT_ON_GPU
  static constexpr std::array kOrders{"the GPU's"};
  explicit GridRun(const char*) {}
#else
  static constexpr std::array kOrders{fake::GridOrder::forward, fake::GridOrder::backward,
                                      fake::GridOrder::shuffled};
  explicit GridRun(fake::GridOrder order) {
    fake::set_grid_order(order, 17);
    fake::watch_races(true);
  }
  ~GridRun() {
    fake::set_grid_order(fake::GridOrder::forward);
    fake::watch_races(false);
  }
#endif
  GridRun(const GridRun&) = delete;
  GridRun& operator=(const GridRun&) = delete;
};

}  // namespace refit::test
