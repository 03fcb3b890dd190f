#include "cli/gpu_runner.h"

#include "executor/cuda/execute_cuda.h"
#include "executor/rank_environment.h"

namespace refit {
namespace {

constexpr const char* kOneGpu =
    "cuda has no network: copies on one GPU moved the bytes, which proves them and times nothing "
    "but the packing";

Runner cuda_runner() {
  Runner runner;
  runner.transport = "cuda";
  runner.run = [](const Schedule& schedule, const Scenario& scenario, const ExecuteOptions& execute,
                  const RunFaults&) -> Run {
    CudaOptions options;
    options.run = execute;
    return {execute_cuda_local(schedule, scenario.refit, scenario.cluster, options), kOneGpu};
  };
  return runner;
}

// Under mpirun, srun or torchrun this process is one rank; otherwise it starts them all, one per
// GPU of this machine.
Runner nccl_runner() {
  Runner runner;
  runner.transport = "nccl";
  const std::optional<RankEnvironment> place = environment_rank();
  runner.has_network = true;
  runner.can_lose_ranks = true;
  runner.reports = !place || place->rank == Rank(0);
  if (!runner.reports) runner.said_elsewhere = said_by_rank_zero(*place);
  runner.run = [place](const Schedule& schedule, const Scenario& scenario,
                       const ExecuteOptions& execute, const RunFaults& faults) -> Run {
    CudaOptions options;
    options.run = execute;
    options.policy = faults.policy;
    options.inject = faults.inject;
    options.failure.timeout_s = faults.timeout_s.value_or(options.failure.timeout_s);
    return {execute_nccl(schedule, scenario.refit, scenario.cluster, place, options),
            kLinksNotKnown};
  };
  return runner;
}

}  // namespace

std::optional<Runner> gpu_runner(const std::string& transport) {
  if (transport == "cuda") return cuda_runner();
  if (transport == "nccl") return nccl_runner();
  return std::nullopt;
}

}  // namespace refit
