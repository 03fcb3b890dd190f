#include "sim/detail/op_cost.h"

#include <algorithm>
#include <cmath>

namespace refit::detail {
namespace {

// A rate of 0 says that the work is free.
double stream_seconds(double bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? bytes / bytes_per_s : 0;
}

// In count contiguous runs, each of which takes as long as run_bytes more.
double copy_seconds(const Op& op, double run_bytes, double bytes_per_s) {
  return stream_seconds(static_cast<double>(op.bytes) + static_cast<double>(op.count) * run_bytes,
                        bytes_per_s);
}

}  // namespace

double barrier_seconds(std::size_t ranks, const NetworkModel& model) {
  return ranks > 1 ? model.barrier_s * std::log2(static_cast<double>(ranks)) : 0;
}

double compute_seconds(const Op& op, std::size_t ranks, const NetworkModel& model,
                       const CodingRates& coding) {
  const auto count = static_cast<double>(op.count), bytes = static_cast<double>(op.bytes);
  switch (op.work) {
    case Work::none:
    case Work::stream:
      return 0;
    case Work::export_tensors:
      return count * model.export_tensor_s;
    case Work::yield:
      return count * model.yield_tensor_s;
    case Work::pull:
      return count * model.pull_tensor_s;
    case Work::assemble:
      return stream_seconds(bytes, model.assemble_bytes_per_s);
    case Work::host:
      return stream_seconds(bytes, model.host_bytes_per_s);
    case Work::pack:
      return copy_seconds(op, model.pack_run_bytes, model.pack_bytes_per_s);
    case Work::pause:
      return model.pause_s;
    case Work::resume:
      return model.resume_s;
    case Work::describe:
      return count * model.describe_tensor_s;
    case Work::stack:
      return count * model.stack_call_s;
    case Work::call:
      return count * model.call_s * std::log2(std::max(2.0, static_cast<double>(ranks)));
    case Work::land:
      return copy_seconds(op, model.land_run_bytes, model.land_bytes_per_s);
    case Work::load:
      return count * model.load_tensor_s;
    case Work::fixed:
      return model.fixed_s;
    case Work::convert:
      return stream_seconds(bytes, model.convert_bytes_per_s);
    case Work::scan:
      return stream_seconds(bytes, coding.scan_bytes_per_s);
    case Work::encode:
      return stream_seconds(bytes, coding.encode_bytes_per_s);
    case Work::decode:
      return stream_seconds(bytes, coding.decode_bytes_per_s);
    case Work::apply:
      return stream_seconds(bytes, coding.apply_bytes_per_s);
  }
  return 0;
}

}  // namespace refit::detail
