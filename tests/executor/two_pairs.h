#pragma once

namespace refit::test {

// 1 MB from two ranks to two others, over links that need 20 ms for it.
inline constexpr const char* kTwoPairs = R"(scenario: two_pairs
assumptions: [NICs reach line rate]
cluster:
  name: pair
  nodes: 2
  gpus_per_node: 2
  nvlink_domain_gpus: 2
  nvlink_bandwidth: 100 MB/s
  nvlink_latency: 2 us
  nics_per_node: 2
  nic_bandwidth: 200 Mbit/s
  nic_latency: 5 us
  gpu_memory: 80 GB
tensors:
  - name: w
    shape: [1000, 1000]
    dtype: u8
    source: {ranks: 0..1, mesh: {shard: 2}, placements: [shard(0)]}
    destination: {ranks: 2..3, mesh: {shard: 2}, placements: [shard(1)]}
)";

}  // namespace refit::test
