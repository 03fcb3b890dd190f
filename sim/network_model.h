#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/yaml.h"

namespace refit {

// The software side of a prediction: what the wire does not tell. Every number has a name, a unit
// and a source in its YAML file (sim/network_models/*.yaml, docs/network_model.md).
struct NetworkModel {
  std::string name;
  double nic_efficiency = 1;        // of line rate, reached by transfers through NICs
  double nvlink_efficiency = 1;     // of line rate
  double stream_bytes_per_s = 0;    // most per NIC of a lane that is one stream of whole tensors
  double nic_message_s = 0;         // per message by NIC, before its bytes flow
  double nvlink_message_s = 0;      // the same by NVLink
  double connect_s = 0;             // per communicator, once: before the first refit
  double register_bytes_per_s = 0;  // of memory, once
  double fixed_s = 0;               // once per refit: RPC, synchronisation, cache reset
  double pause_s = 0;               // engines finish or drop what they generate
  double resume_s = 0;              // engines take requests again
  double barrier_s = 0;             // per barrier, times log2 of its ranks
  double describe_tensor_s = 0;     // per tensor whose name, type and shape engines are told
  double call_s = 0;                // per transport call, times log2(ranks of its communicator)
  double export_tensor_s = 0;       // per tensor that a trainer exports (one gather collective)
  double yield_tensor_s = 0;        // per checkpoint tensor that a trainer names, converts, packs
  double load_tensor_s = 0;         // per tensor that an engine's loader takes
  double pull_tensor_s = 0;         // per tensor that an engine fetches by itself
  double stack_call_s = 0;          // per call whose experts a trainer stacks
  double pack_bytes_per_s = 0;      // trainer's packing, per GPU; 0: free, as all rates here
  double pack_run_bytes = 0;        // a contiguous run takes as long to pack as so many bytes more
  double assemble_bytes_per_s = 0;  // whole tensors gathered and copied into and out of buckets
  double host_bytes_per_s = 0;      // shards cut in host memory, per rank
  double land_bytes_per_s = 0;      // unpack, copy back, post-process, per generation GPU
  double land_run_bytes = 0;        // as pack_run_bytes, of unpacking
  double convert_bytes_per_s = 0;   // read and written by conversions, per GPU
  // Deltas: content gone through by one core of a host, with the codec `rice` at about 1 % changed.
  double delta_scan_bytes_per_s = 0;
  double delta_encode_bytes_per_s = 0;  // beyond the scan
  double delta_decode_bytes_per_s = 0;
  double delta_apply_bytes_per_s = 0;   // and checked
  double delta_memory_bytes_per_s = 0;  // content that a rank's part of its host's memory gives
  double delta_gpu_bytes_per_s = 0;     // content scanned by a GPU
  bool latencies = true;                // count the latency of links

  struct Source {
    std::string parameter, value, source;

    friend bool operator==(const Source&, const Source&) = default;
  };
  std::vector<Source> sources;

  // How sure the constants are: the covariance of their logarithms, as a fit found it, and what
  // every prediction is off by besides.
  struct Uncertainty {
    std::vector<std::size_t> parameters;  // indices into network_parameters()
    std::vector<double> covariance;       // row by row
    double model_error = 0;               // one sigma of ln(true / predicted)

    friend bool operator==(const Uncertainty&, const Uncertainty&) = default;
  };
  std::optional<Uncertainty> uncertainty = {};

  friend bool operator==(const NetworkModel&, const NetworkModel&) = default;
};

// Bytes over links and nothing else: no software cost, no latency, line rates.
NetworkModel wire_only();
// Whether it is the same model, under whatever name.
bool is_wire_only(NetworkModel model);

NetworkModel read_network_model(const YamlNode& node);
// The models compiled into the program. The first is the default.
std::vector<std::string> catalog_network_models();
NetworkModel catalog_network_model(const std::string& name);

}  // namespace refit
