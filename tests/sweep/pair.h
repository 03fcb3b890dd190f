#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "sweep/sweep.h"

namespace refit::test {

// 8 GB from one node to another over a NIC of 10 GB/s: 0.8 s, whatever the strategy, since only the
// wire counts. Indented to stand under `base:`.
inline const std::string kPair = R"(
  scenario: pair
  cluster:
    nodes: 2
    gpus_per_node: 1
    nvlink_domain_gpus: 1
    nics_per_node: 1
    nic_bandwidth: 80 Gbit/s
    gpu_memory: 80 GB
  network_model: wire_only
  tensors:
    - name: w
      shape: [8000, 1000, 1000]
      dtype: u8
      source: {ranks: 0, placements: [replicate]}
      destination: {ranks: 1, placements: [replicate]}
)";

// The sweep of it that `rest` says.
inline Sweep pair_sweep(const std::string& rest) {
  return parse_sweep("sweep: s\nbase:" + kPair + rest, "s.yaml");
}

template <class Work>
std::string error_of(const Work& work, ErrorCode code = ErrorCode::bad_input) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "no error";
}

}  // namespace refit::test
