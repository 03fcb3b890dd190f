#pragma once

#include <optional>
#include <string>

#include "cli/runners.h"

namespace refit {

// Runs of plans that send changes, version by version: what Runner::run does with them. `store`:
// the address of an object store through which they travel.
Run run_versions_inproc(const Schedule& schedule, const Scenario& scenario,
                        const ExecuteOptions& options, const RunFaults& faults,
                        const std::optional<std::string>& store);
Run run_versions_tcp(const Schedule& schedule, const Scenario& scenario,
                     const ExecuteOptions& options, const RunFaults& faults,
                     const std::optional<RankEnvironment>& place,
                     const std::optional<std::string>& store);
Run run_versions_over_lab(const Schedule& schedule, const Scenario& scenario,
                          const ExecuteOptions& options, const RunFaults& faults);

// Through an object store. Error(bad_input) unless the transport is inproc, or tcp without a lab.
Runner store_runner(const std::string& transport, bool lab, const std::string& store);

// A runner that refuses such plans, for transports that have no versions.
Runner no_versions(Runner runner);

}  // namespace refit
