#include <catch2/catch.hpp>

#include "executor/cuda/device_buffer.h"
#include "tests/executor/cuda_place.h"
#include "tests/fakes/wrong_kernels.h"

// The stand-in for a GPU's grid finds what it claims to find (emulated_grid.h).
namespace refit::test {
namespace {

using fake::GridOrder;
using fake::Mistake;

constexpr unsigned kAll = fake::kMistakenBlocks * fake::kMistakenThreads;

struct Outcome {
  std::vector<unsigned> numbers;
  unsigned long long sum = 0;
  std::vector<std::string> faults;
};

Outcome outcome_of(Mistake mistake) {
  Outcome outcome{std::vector<unsigned>(kAll), 0, {}};
  {
    Stream stream;
    DeviceBuffer numbers, sum;
    numbers.reserve(kAll * sizeof(unsigned));
    sum.reserve(sizeof outcome.sum);
    REQUIRE(cudaMemcpy(sum.data(), &outcome.sum, sizeof outcome.sum, cudaMemcpyHostToDevice) ==
            cudaSuccess);
    fake::launch_mistaken(mistake, reinterpret_cast<unsigned*>(numbers.data()),
                          reinterpret_cast<unsigned long long*>(sum.data()), stream.get());
    stream.synchronize();
    REQUIRE(cudaMemcpy(outcome.numbers.data(), numbers.data(), kAll * sizeof(unsigned),
                       cudaMemcpyDeviceToHost) == cudaSuccess);
    REQUIRE(cudaMemcpy(&outcome.sum, sum.data(), sizeof outcome.sum, cudaMemcpyDeviceToHost) ==
            cudaSuccess);
  }
  outcome.faults = fake::take_faults();
  return outcome;
}

std::vector<unsigned> tenfold_blocks() {
  std::vector<unsigned> numbers;
  for (unsigned i = 0; i < kAll; ++i) numbers.push_back(i / fake::kMistakenThreads * 10);
  return numbers;
}

using Faults = std::vector<std::string>;

}  // namespace

TEST_CASE("emulated grid: a kernel without a mistake gives the same in every order", "[cuda]") {
  const GridRun grid(GENERATE(from_range(GridRun::kOrders)));
  const Outcome outcome = outcome_of(Mistake::none);
  REQUIRE(outcome.faults == Faults{});
  REQUIRE(outcome.numbers == tenfold_blocks());
  REQUIRE(outcome.sum == kAll);
}

TEST_CASE("emulated grid: a barrier that is missing shows in the result of one order", "[cuda]") {
  fake::set_grid_order(GENERATE(GridOrder::backward, GridOrder::shuffled), 17);
  const Outcome outcome = outcome_of(Mistake::no_barrier);
  fake::set_grid_order(GridOrder::forward);
  REQUIRE(outcome.faults == Faults{});
  REQUIRE(outcome.numbers != tenfold_blocks());
}

TEST_CASE("emulated grid: a barrier that not all threads reach is a fault", "[cuda]") {
  const GridRun grid(GENERATE(from_range(GridRun::kOrders)));
  const Mistake mistake = GENERATE(Mistake::parted_barrier, Mistake::two_barriers);
  REQUIRE(outcome_of(mistake).faults ==
          Faults{"not all threads of a block reach the same barrier"});
}

// Where accesses are seen: not under a sanitizer, which has its own eyes.
#ifdef REFIT_ACCESSES_ARE_SEEN
TEST_CASE("emulated grid: threads that touch a byte with nothing between them race", "[cuda]") {
  const GridRun grid(GENERATE(from_range(GridRun::kOrders)));
  const Mistake mistake = GENERATE(Mistake::plain_add, Mistake::two_writers);
  REQUIRE(
      outcome_of(mistake).faults ==
      Faults{"two threads of a kernel touch a byte with no barrier and no atomic between them"});
}

TEST_CASE("emulated grid: a barrier that is missing is a race in every order", "[cuda]") {
  const GridRun grid(GENERATE(from_range(GridRun::kOrders)));
  const Faults faults = outcome_of(Mistake::no_barrier).faults;
  REQUIRE(faults.size() == 1);
}

TEST_CASE("emulated grid: shared memory that nobody has written must not be read", "[cuda]") {
  const GridRun grid(GENERATE(from_range(GridRun::kOrders)));
  REQUIRE(outcome_of(Mistake::unwritten_shared).faults ==
          Faults{"a kernel reads shared memory that its block has not written"});
}

TEST_CASE("emulated grid: a stray or a misaligned access ends the launch", "[cuda]") {
  const bool watch = GENERATE(false, true);
  fake::watch_races(watch);
  fake::set_grid_order(GENERATE(GridOrder::forward, GridOrder::backward), 17);
  const auto [mistake, words] = GENERATE(table<Mistake, std::string>(
      {{Mistake::behind_the_end, "a kernel touches memory outside every allocation"},
       {Mistake::misaligned, "a kernel has a misaligned access"}}));
  const Outcome outcome = outcome_of(mistake);
  fake::watch_races(false);
  fake::set_grid_order(GridOrder::forward);
  CAPTURE(watch);
  REQUIRE(outcome.faults.back() == words);
  REQUIRE(outcome.sum < kAll);
  // The next launch is as good as any.
  REQUIRE(outcome_of(Mistake::none).numbers == tenfold_blocks());
}
#endif

TEST_CASE("emulated grid: a launch of nothing is a fault", "[cuda]") {
  fake::run_grid(0, 64, {});
  fake::run_grid(1, 1025, {});
  REQUIRE(fake::take_faults().size() == 2);
}

}  // namespace refit::test
