#include <memory>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "delta/cuda/device_scan.h"
#include "delta/scan.h"

namespace refit {
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
                          int width) {
  const auto elements = static_cast<std::uint32_t>(before.size() / static_cast<std::size_t>(width));
  const auto old_elements = to_device(before), new_elements = to_device(after);
  const auto positions = on_device<std::uint32_t>(elements);
  const auto differences = on_device<std::int32_t>(elements);
  const auto count = on_device<std::uint32_t>(1);
  std::size_t bytes = 0;
  REQUIRE(device_scan_bytes(elements, bytes) == cudaSuccess);
  const auto workspace = on_device<std::byte>(bytes);
  REQUIRE(launch_scan(old_elements.get(), new_elements.get(), elements, width,
                      {positions.get(), differences.get(), count.get()}, workspace.get(), bytes,
                      nullptr) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const std::size_t found = to_host(count.get(), 1).front();
  return {to_host(positions.get(), found), to_host(differences.get(), found)};
}

}  // namespace

TEST_CASE("device scan: a GPU finds what the processor finds, in the same order", "[.gpu]") {
  std::mt19937_64 random(9);
  for (const std::size_t count : {1u, 33u, 65537u, 5000011u}) {
    for (const int width : {1, 2, 4}) {
      for (const double density : {0.0, 0.01, 1.0}) {
        CAPTURE(count, width, density);
        std::vector<std::byte> before(count * static_cast<std::size_t>(width));
        for (std::byte& b : before) b = static_cast<std::byte>(random());
        std::vector<std::byte> after = before;
        std::bernoulli_distribution is_changed(density);
        for (std::size_t i = 0; i < after.size(); i += static_cast<std::size_t>(width)) {
          if (is_changed(random)) after[i] ^= static_cast<std::byte>(1 + random() % 255);
        }
        Changes expected;
        scan(before, after, width, expected);
        const Changes found = scanned_on_device(before, after, width);
        REQUIRE((found.positions == expected.positions));
        REQUIRE((found.differences == expected.differences));
      }
    }
  }
}

}  // namespace refit
