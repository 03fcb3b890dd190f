#include "sim/network_parameters.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"

namespace refit {
namespace {

using enum ParameterKind;
using M = NetworkModel;

// Ranges: a NIC or NVLink never gives its whole line rate to payload and gives half of it on a bad
// day; a call, a launch or a collective driven from Python takes microseconds to milliseconds;
// copies of a GPU are bounded by its memory, copies of a host by a few channels of DDR.
constexpr std::array kParameters = {
    NetworkParameter{"nic_efficiency", share, &M::nic_efficiency, 0.5, 1,
                     "payload of a NIC's line rate"},
    NetworkParameter{"nvlink_efficiency", share, &M::nvlink_efficiency, 0.4, 1,
                     "payload of NVLink's line rate"},
    NetworkParameter{"stream_rate", rate, &M::stream_bytes_per_s, 4e9, 50e9,
                     "one NIC rail of a broadcast that is not cut into pipelined frames"},
    NetworkParameter{"fixed", seconds, &M::fixed_s, 0.01, 2,
                     "one refit: remote calls, synchronisation, cache reset"},
    NetworkParameter{"call", seconds, &M::call_s, 5e-6, 1e-3,
                     "one transport call, times log2 of its ranks"},
    NetworkParameter{"pause", seconds, &M::pause_s, 1e-3, 60,
                     "engines finish or drop what they generate, in plans that pause them", false},
    NetworkParameter{"resume", seconds, &M::resume_s, 1e-3, 60,
                     "engines take requests again, in plans that pause them", false},
    NetworkParameter{"barrier", seconds, &M::barrier_s, 1e-6, 10e-3,
                     "one barrier, times log2 of its ranks", false},
    NetworkParameter{"describe_tensor", seconds, &M::describe_tensor_s, 1e-7, 1e-3,
                     "name, type and shape of one checkpoint tensor told to all engines, in plans "
                     "that tell them in each refit",
                     false},
    NetworkParameter{"export_tensor", seconds, &M::export_tensor_s, 10e-6, 15e-3,
                     "one export collective of one training parameter"},
    NetworkParameter{"yield_tensor", seconds, &M::yield_tensor_s, 5e-6, 2e-3,
                     "one checkpoint tensor named, converted and packed by a trainer"},
    NetworkParameter{"load_tensor", seconds, &M::load_tensor_s, 5e-6, 2e-3,
                     "one checkpoint tensor unpacked and given to an engine's loader"},
    NetworkParameter{
        "pull_tensor", seconds, &M::pull_tensor_s, 5e-6, 2e-3,
        "one checkpoint tensor that an engine fetches: its descriptors, slices, hand-over"},
    NetworkParameter{"stack_call", seconds, &M::stack_call_s, 50e-6, 20e-3,
                     "all experts of one transport call regrouped by a trainer"},
    NetworkParameter{"pack_rate", rate, &M::pack_bytes_per_s, 20e9, 3e12,
                     "a trainer's packing, per GPU"},
    NetworkParameter{"pack_run", bytes, &M::pack_run_bytes, 1, 16e3,
                     "what a contiguous run takes to pack beyond its own bytes", false},
    NetworkParameter{"assemble_rate", rate, &M::assemble_bytes_per_s, 10e9, 3e12,
                     "gathering and copying whole tensors into and out of buckets, per GPU"},
    NetworkParameter{"host_rate", rate, &M::host_bytes_per_s, 1e9, 60e9,
                     "cutting shards in host memory, per rank"},
    NetworkParameter{"land_rate", rate, &M::land_bytes_per_s, 20e9, 3e12,
                     "unpacking, copying back and post-processing on one generation GPU"},
    NetworkParameter{"land_run", bytes, &M::land_run_bytes, 1, 16e3,
                     "what a contiguous run takes to unpack beyond its own bytes", false},
    NetworkParameter{"convert_rate", rate, &M::convert_bytes_per_s, 100e9, 8e12,
                     "read and written by conversions, per GPU", false},
    NetworkParameter{"delta_scan", rate, &M::delta_scan_bytes_per_s, 3e9, 40e9,
                     "weights compared with their last version by one core", false},
    NetworkParameter{"delta_encode", rate, &M::delta_encode_bytes_per_s, 2e9, 200e9,
                     "changes of so many weights coded by one core, beyond the scan", false},
    NetworkParameter{"delta_decode", rate, &M::delta_decode_bytes_per_s, 2e9, 200e9,
                     "changes of so many weights decoded by one core", false},
    NetworkParameter{"delta_apply", rate, &M::delta_apply_bytes_per_s, 1e9, 40e9,
                     "weights changed in place and checked by one core", false},
    NetworkParameter{"delta_memory", rate, &M::delta_memory_bytes_per_s, 2e9, 500e9,
                     "weights that a rank's part of its host's memory lets pass, over two streams",
                     false},
    NetworkParameter{"delta_gpu", rate, &M::delta_gpu_bytes_per_s, 100e9, 4e12,
                     "weights compared with their last version by a GPU", false},
    NetworkParameter{"nic_message", seconds, &M::nic_message_s, 1e-6, 200e-6,
                     "one message by NIC, before its bytes flow", false},
    NetworkParameter{"nvlink_message", seconds, &M::nvlink_message_s, 1e-6, 100e-6,
                     "one message by NVLink, before its bytes flow", false},
    NetworkParameter{"connect", seconds, &M::connect_s, 10e-3, 10,
                     "one communicator made, before the first refit only", false},
    NetworkParameter{"register_rate", rate, &M::register_bytes_per_s, 1e9, 500e9,
                     "memory registered with NICs, before the first refit only", false},
};

}  // namespace

std::span<const NetworkParameter> network_parameters() { return kParameters; }

std::size_t network_parameter(std::string_view key) {
  const auto found = std::ranges::find(kParameters, key, &NetworkParameter::key);
  if (found != kParameters.end()) return static_cast<std::size_t>(found - kParameters.begin());
  std::vector<std::string_view> keys;
  for (const NetworkParameter& parameter : kParameters) keys.push_back(parameter.key);
  throw Error(ErrorCode::bad_input,
              fmt::format("'{}' is no constant of a network model; use one of {}", key,
                          fmt::join(keys, ", ")));
}

std::string parameter_text(const NetworkParameter& parameter, double value) {
  switch (parameter.kind) {
    case share:
      return fmt::format("{:.4g} %", 100 * value);
    case seconds:
      return value >= 1      ? fmt::format("{:.4g} s", value)
             : value >= 1e-3 ? fmt::format("{:.4g} ms", 1e3 * value)
                             : fmt::format("{:.4g} us", 1e6 * value);
    case rate:
      return fmt::format("{:.4g} GB/s", value / 1e9);
    case bytes:
      return fmt::format("{:.4g} B", value);
  }
  return {};
}

}  // namespace refit
