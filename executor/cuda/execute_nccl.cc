#include "executor/cuda/cuda_check.h"
#include "executor/cuda/execute_cuda.h"
#include "executor/cuda/nccl_rank.h"
#include "executor/processes.h"

namespace refit {
namespace {

// Some launchers let a process see its own GPU only.
int device_of(const RankEnvironment& place) { return require_gpus() == 1 ? 0 : place.local_rank; }

}  // namespace

Measurement execute_nccl(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         const std::optional<RankEnvironment>& place, const CudaOptions& options,
                         RankNetwork* network) {
  check_ranks(schedule, cluster, place);
  check_fault(options.inject, cluster, false);
  const Moves moves = write_out(schedule, refit, cluster, options.run.moves);
  const RunContext context{schedule, refit, cluster, moves};
  ProcessOptions processes;
  processes.network = network;
  processes.failure = options.failure;
  processes.goes_on = options.goes_on();
  NcclResults results(context, options);
  run_processes(
      context, place, processes,
      [&](RankControl& control, RankNetwork&) {
        const int device = place ? device_of(*place) : control.rank().value;
        run_nccl_rank(context, options, {device, !place}, control);
      },
      [&](Rank rank, std::string_view submitted) { results.add(rank, submitted); });
  const bool has_all = !place || place->rank == Rank(0);
  return has_all ? results.finish() : Measurement{};
}

}  // namespace refit
