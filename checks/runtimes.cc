#include "checks/runtimes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "checks/nccl_m2n.h"
#include "checks/nemo_rl.h"
#include "checks/vllm_loader.h"

namespace refit {
namespace {

NemoRlCase nemo_rl_case(const Scenario& scenario) {
  const Refit& refit = scenario.refit;
  std::vector<Rank> both;
  std::set_intersection(refit.sources.begin(), refit.sources.end(), refit.destinations.begin(),
                        refit.destinations.end(), std::back_inserter(both));
  return {*scenario.training, *scenario.generation, !both.empty(), scenario.runtime};
}

Findings m2n(const Scenario& scenario) {
  return nccl_m2n_findings(scenario.refit, scenario.cluster);
}

Findings vllm_loader(const Scenario& scenario) {
  return vllm_loader_findings(scenario.refit, scenario.generation, scenario.plan.bucket_bytes);
}

struct Runtime {
  const char* name;
  Findings (*of_layouts)(const Scenario&);
  Findings (*of_engines)(const NemoRlCase&);
};

constexpr Runtime kRuntimes[] = {{"nccl_m2n", m2n, nullptr},
                                 {"nemo_rl_reshard", nullptr, nemo_rl_reshard_findings},
                                 {"nemo_rl_sparse", nullptr, nemo_rl_sparse_findings},
                                 {"nemo_rl_s3_sparse", nullptr, nemo_rl_s3_sparse_findings},
                                 {"nemo_rl_nixl", nullptr, nemo_rl_nixl_findings},
                                 {"vllm_loader", vllm_loader, nullptr}};

}  // namespace

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  for (const Runtime& runtime : kRuntimes) names.emplace_back(runtime.name);
  return names;
}

Findings findings_of_runtime(const std::string& name, const Scenario& scenario) {
  for (const Runtime& runtime : kRuntimes) {
    if (name != runtime.name) continue;
    if (runtime.of_layouts != nullptr) return runtime.of_layouts(scenario);
    if (!scenario.training) {
      throw Error(
          ErrorCode::bad_input,
          fmt::format("{}: {} asks what engines both sides run, and the tensors are written "
                      "out; use a scenario with a model, or --runtime nccl_m2n",
                      scenario.path, name));
    }
    return runtime.of_engines(nemo_rl_case(scenario));
  }
  REFIT_CHECK(false);  // the command line has checked the name
  return {};
}

}  // namespace refit
