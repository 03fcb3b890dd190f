#include "executor/cuda/gpu_environment.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace refit {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Entries of a folder of the kernel's that stand for hardware, sorted.
std::vector<std::string> devices_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (std::filesystem::exists(entry.path() / "device", none))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

double total_s(const WaveTimes& times) { return times.pack_s + times.wire_s + times.unpack_s; }

}  // namespace

Facts gpu_facts(int device) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int driver = 0, runtime = 0;
  cuda_check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  cuda_check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return {{"gpu", properties.name},
          {"gpu memory", format_bytes(static_cast<double>(properties.totalGlobalMem))},
          {"cuda driver", version_text(driver)},
          {"cuda runtime", version_text(runtime)}};
}

Facts nic_facts() {
  std::vector<std::string> names = devices_in("/sys/class/infiniband");
  if (names.empty()) names = devices_in("/sys/class/net");
  if (names.empty()) return {};
  return {{"nics", fmt::format("{}", fmt::join(names, " "))}};
}

Facts wave_facts(const WaveTimes& times) {
  const auto milliseconds = [](double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); };
  return {{"busiest rank: pack", milliseconds(times.pack_s)},
          {"busiest rank: transfer", milliseconds(times.wire_s)},
          {"busiest rank: unpack", milliseconds(times.unpack_s)},
          {"busiest rank: packed", format_bytes(static_cast<double>(times.packed_bytes))},
          {"busiest rank: unpacked", format_bytes(static_cast<double>(times.unpacked_bytes))}};
}

WaveTimes busiest(const std::vector<WaveTimes>& of_ranks) {
  const auto at = std::max_element(
      of_ranks.begin(), of_ranks.end(),
      [](const WaveTimes& a, const WaveTimes& b) { return total_s(a) < total_s(b); });
  return at == of_ranks.end() ? WaveTimes{} : *at;
}

}  // namespace refit
