#include <memory>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "delta/cuda/device_scan.h"
#include "delta/scan.h"
#include "tests/executor/cuda_place.h"

namespace refit::test {
namespace {

struct FreeDevice {
  void operator()(void* pointer) const { cudaFree(pointer); }
};
template <class T>
using DeviceArray = std::unique_ptr<T, FreeDevice>;

template <class T>
DeviceArray<T> on_device(std::size_t count) {
  void* pointer = nullptr;
  REQUIRE(cudaMalloc(&pointer, (count + 1) * sizeof(T)) == cudaSuccess);
  return DeviceArray<T>(static_cast<T*>(pointer));
}

template <class T>
std::vector<T> to_host(const T* device, std::size_t count) {
  std::vector<T> host(count);
  REQUIRE(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost) ==
          cudaSuccess);
  return host;
}

DeviceArray<std::byte> to_device(const std::vector<std::byte>& host) {
  DeviceArray<std::byte> device = on_device<std::byte>(host.size());
  REQUIRE(cudaMemcpy(device.get(), host.data(), host.size(), cudaMemcpyHostToDevice) ==
          cudaSuccess);
  return device;
}

Changes scanned_on_device(const std::vector<std::byte>& before, const std::vector<std::byte>& after,
                          int width, unsigned most_blocks) {
  const auto elements = static_cast<std::uint32_t>(before.size() / static_cast<std::size_t>(width));
  const auto old_elements = to_device(before), new_elements = to_device(after);
  const auto positions = on_device<std::uint32_t>(elements);
  const auto differences = on_device<std::int32_t>(elements);
  const auto count = on_device<std::uint32_t>(1);
  std::size_t bytes = 0;
  REQUIRE(device_scan_bytes(elements, bytes) == cudaSuccess);
  const auto workspace = on_device<std::byte>(bytes);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(launch_scan(old_elements.get(), new_elements.get(), elements, width,
                      {positions.get(), differences.get(), count.get()}, workspace.get(), bytes,
                      stream, most_blocks) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  const std::size_t found = to_host(count.get(), 1).front();
  return {to_host(positions.get(), found), to_host(differences.get(), found)};
}

// One block, or a few, that take the changes in turn; as many as a launch has by itself.
constexpr unsigned kBlocks[] = {1, 3, kMostScanBlocks};

void require_equal(std::size_t count, int width, double density, unsigned most_blocks,
                   std::mt19937_64& random) {
  std::vector<std::byte> before(count * static_cast<std::size_t>(width));
  for (std::byte& b : before) b = static_cast<std::byte>(random());
  std::vector<std::byte> after = before;
  std::bernoulli_distribution is_changed(density);
  for (std::size_t i = 0; i < after.size(); i += static_cast<std::size_t>(width)) {
    if (is_changed(random))
      after[i + random() % static_cast<std::size_t>(width)] ^=
          static_cast<std::byte>(1 + random() % 255);
  }
  const Changes found = scanned_on_device(before, after, width, most_blocks);
  for (const ScanKernel kernel : scan_kernels()) {
    CAPTURE(count, width, density, most_blocks, name(kernel));
    Changes expected;
    scan(before, after, width, expected, kernel);
    REQUIRE((found.positions == expected.positions));
    REQUIRE((found.differences == expected.differences));
  }
}

}  // namespace

TEST_CASE("device scan: a GPU finds what every kernel of the processor finds, in the same order",
          REFIT_PLACE) {
  const auto order = GENERATE(from_range(GridRun::kOrders));
  CAPTURE(order);
  const GridRun grid(order);
  std::mt19937_64 random(9);
  for (const std::size_t count : {1u, 33u, 255u, 257u, 1031u}) {
    for (const int width : {1, 2, 4}) {
      for (const double density : {0.0, 0.01, 0.5, 1.0}) {
        for (const unsigned most_blocks : kBlocks)
          require_equal(count, width, density, most_blocks, random);
      }
    }
  }
  REFIT_REQUIRE_CLEAN();
}

// Without an eye on races, which would cost more than the test is worth: no block has another's
// bytes.
TEST_CASE("device scan: the same for lengths beyond a block of the processor's scan", REFIT_PLACE) {
  std::mt19937_64 random(10);
  for (const int width : {1, 2, 4}) {
    for (const double density : {0.01, 1.0}) {
      for (const unsigned most_blocks : kBlocks)
        require_equal(65537, width, density, most_blocks, random);
    }
  }
  REFIT_REQUIRE_CLEAN();
}

#ifdef REFIT_ON_GPU
TEST_CASE("device scan: the same where changes outnumber the threads of a launch", REFIT_PLACE) {
  std::mt19937_64 random(11);
  for (const int width : {1, 2, 4}) require_equal(5000011, width, 1.0, kMostScanBlocks, random);
}
#endif

}  // namespace refit::test
