#include "validation/nccl_operation.h"

#include <array>
#include <utility>

namespace refit {
namespace {

using enum NcclOperation;

// Names hold other names: all_reduce_perf is looked for before reduce_perf.
constexpr std::array<std::pair<std::string_view, NcclOperation>, 7> kPrograms{{
    {"all_reduce_perf", all_reduce},
    {"all_gather_perf", all_gather},
    {"reduce_scatter_perf", reduce_scatter},
    {"broadcast_perf", broadcast},
    {"alltoall_perf", alltoall},
    {"sendrecv_perf", sendrecv},
    {"reduce_perf", reduce},
}};

constexpr std::array<std::pair<std::string_view, NcclOperation>, 12> kFileWords{{
    {"all_reduce", all_reduce},
    {"allreduce", all_reduce},
    {"all_gather", all_gather},
    {"allgather", all_gather},
    {"reduce_scatter", reduce_scatter},
    {"reducescatter", reduce_scatter},
    {"broadcast", broadcast},
    {"bcast", broadcast},
    {"alltoall", alltoall},
    {"all_to_all", alltoall},
    {"sendrecv", sendrecv},
    {"send_recv", sendrecv},
}};

constexpr std::array<std::string_view, 3> kUnused{"hypercube_perf", "gather_perf", "scatter_perf"};

template <std::size_t Size>
std::optional<NcclOperation> first_in(
    std::string_view text,
    const std::array<std::pair<std::string_view, NcclOperation>, Size>& spellings) {
  for (const auto& [spelling, operation] : spellings)
    if (text.find(spelling) != std::string_view::npos) return operation;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(NcclOperation operation) {
  switch (operation) {
    case all_reduce:
      return "all_reduce";
    case all_gather:
      return "all_gather";
    case reduce_scatter:
      return "reduce_scatter";
    case broadcast:
      return "broadcast";
    case reduce:
      return "reduce";
    case alltoall:
      return "alltoall";
    case sendrecv:
      return "sendrecv";
  }
  return "?";
}

double bus_factor(NcclOperation operation, int ranks) {
  const double others = (ranks - 1.0) / ranks;
  switch (operation) {
    case all_reduce:
      return 2 * others;
    case all_gather:
    case reduce_scatter:
    case alltoall:
      return others;
    case broadcast:
    case reduce:
    case sendrecv:
      return 1;
  }
  return 1;
}

std::optional<NcclOperation> operation_of_program(std::string_view line) {
  return first_in(line, kPrograms);
}

std::optional<std::string_view> unused_program(std::string_view line) {
  if (operation_of_program(line)) return std::nullopt;
  for (const std::string_view program : kUnused)
    if (line.find(program) != std::string_view::npos) return program;
  return std::nullopt;
}

std::optional<NcclOperation> operation_of_file(std::string_view file) {
  return first_in(file, kFileWords);
}

}  // namespace refit
