#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "executor/detail/lab_flow.h"
#include "executor/lab.h"

namespace refit::test {

constexpr double kMbit = 1e6 / 8;

struct LabShape {
  int nodes = 2;
  int gpus_per_node = 4;
  int nvlink_domain_gpus = 4;
  int nics_per_node = 4;
  double nic_bytes_per_s = 200 * kMbit;
  double nvlink_bytes_per_s = 1800 * kMbit;
  std::optional<double> pcie_bytes_per_s = std::nullopt;
  FabricSpec fabric = {};
};

// By default the cluster of all lab tests: an H100 node's rates divided by 2000.
inline Cluster lab_cluster(const LabShape& shape = {}) {
  NodeGroupSpec group;
  group.name = "lab";
  group.nodes = shape.nodes;
  group.gpus_per_node = shape.gpus_per_node;
  group.nvlink_domain_gpus = shape.nvlink_domain_gpus;
  group.nvlink_bytes_per_s = shape.nvlink_bytes_per_s;
  group.nics_per_node = shape.nics_per_node;
  group.nic_bytes_per_s = shape.nic_bytes_per_s;
  group.pcie_bytes_per_s = shape.pcie_bytes_per_s;
  return Cluster({{group}, {shape.fabric}, {"here"}, {}});
}

// Where a lab is refused the test passes and says why it tested nothing.
inline bool lab_is_refused() {
  try {
    LabOptions options;
    options.prove = false;
    run_in_lab(
        lab_cluster({.nodes = 2, .gpus_per_node = 1, .nvlink_domain_gpus = 1, .nics_per_node = 1}),
        options, [](Lab&) { return std::string(); });
  } catch (const Error& error) {
    const std::string why = error.what();
    if (why.find("refuses what a lab needs") == std::string::npos &&
        why.find("not installed") == std::string::npos) {
      throw;
    }
    WARN("skipped: " << why);
    return true;
  }
  return false;
}

inline std::string join(const std::vector<double>& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

// Rates in bytes/s of flows that run side by side in a new lab.
inline std::vector<double> rates_in_lab(const Cluster& cluster, LabOptions options,
                                        const std::vector<detail::LabFlow>& flows,
                                        double seconds = 0.5) {
  options.prove = false;
  std::istringstream text(run_in_lab(
      cluster, options, [&](Lab& lab) { return join(detail::flow_rates(lab, flows, seconds)); }));
  std::vector<double> rates;
  for (double rate = 0; text >> rate;) rates.push_back(rate);
  return rates;
}

}  // namespace refit::test
