#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace refit {

// What one of the nccl-tests programs times.
enum class NcclOperation {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  sendrecv
};

std::string_view to_string(NcclOperation operation);

// Bus bandwidth over algorithm bandwidth, as nccl-tests defines both (its PERFORMANCE.md): bytes
// that a rank puts on its busiest link, per byte of the message.
double bus_factor(NcclOperation operation, int ranks);

// That of the program which a line names ("all_reduce_perf"), or nothing; and a program of
// nccl-tests whose bytes per link we have no formula for.
std::optional<NcclOperation> operation_of_program(std::string_view line);
std::optional<std::string_view> unused_program(std::string_view line);

// That which a file's name speaks of: "allreduce-2-nodes.log".
std::optional<NcclOperation> operation_of_file(std::string_view file);

}  // namespace refit
