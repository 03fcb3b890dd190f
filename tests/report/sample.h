#pragma once

#include "report/simulation.h"
#include "topology/cluster.h"

namespace refit {

// Nodes of two GPUs with NVLink of 100 GB/s and a NIC of 10 GB/s per GPU: numbers for hand
// arithmetic.
inline ClusterSpec two_gpu_nodes(int nodes) {
  NodeGroupSpec group;
  group.name = "pair";
  group.nodes = nodes;
  group.gpus_per_node = 2;
  group.nvlink_domain_gpus = 2;
  group.nvlink_bytes_per_s = 100e9;
  group.nvlink_latency_s = 1e-6;
  group.nics_per_node = 2;
  group.nic_bytes_per_s = 10e9;
  group.nic_latency_s = 5e-6;
  group.gpu_memory_bytes = 80e9;
  return {{group}, {FabricSpec{}}, {"here"}, {}};
}

inline StrategyResult sample_row(const char* strategy, double copies) {
  StrategyResult row;
  row.strategy = strategy;
  row.ops = 12;
  row.unique_bytes = 10'000'000'000;
  row.payload_bytes = 40'000'000'000;
  row.logical_bytes = 10'000'000'000;
  row.network_bytes = copies * 10e9;
  row.nvlink_bytes = 20e9;
  row.copies = copies;
  row.certificate.bound_s = 0.5;
  row.certificate.bound_by = "domain 1 ingress";
  row.certificate.no_relay_bound_s = 0.8;
  row.certificate.wire_s = 0.55;
  row.certificate.latency_s = 5e-6;
  row.certificate.levels = 3;
  row.certificate.chunk_bytes = 2'000'000;
  row.certificate.relay_depth = 4;
  row.certificate.fill_s = 0.0002;
  row.certificate.plan = "0123456789abcdef";
  row.predicted_s = 0.75;
  row.busiest = {LinkId{3}, "node 1 nic 0 in", LinkKind::nic, 5e9, 0.6667};
  row.phases = {{"reshard", 0, 0.7000000000000001, 0.1}, {"load", 0.7000000000000001, 0.75, 0.05}};
  row.network_model = "default";
  row.solver = "incremental";
  return row;
}

inline SimulationReport sample_report() {
  SimulationReport report;
  report.scenario = "sample";
  report.model = "none; 1 tensor written out";
  report.cluster = "2 x pair";
  report.assumptions = {"NICs reach line rate"};
  report.strategies = {sample_row("direct", 4), sample_row("reshard", 2)};
  return report;
}

}  // namespace refit
