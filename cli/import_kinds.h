#pragma once

#include "cli/verbs.h"

namespace refit {

// What `refit import` can read, one function and one file each.
void add_import_cluster(CLI::App& import, Action& action);
void add_import_layouts(CLI::App& import, Action& action);
void add_import_models(CLI::App& import, Action& action);

}  // namespace refit
