#pragma once

#include "cli/runners.h"

namespace refit {

// A runner that runs plans of changes version by version, and all others as before.
Runner with_versions(Runner runner, bool lab, const VersionOptions& options);

}  // namespace refit
