#pragma once

#include <functional>
#include <string>

#include "cli/cli11_fwd.h"
#include "cli/verbs.h"
#include "report/table.h"

namespace refit {

// What a verb says that lists a catalog, or one of its entries: for people, and as a table.
struct CatalogWords {
  std::string name_help;
  std::string schema;
  std::function<Table()> all;
  std::function<Table(const std::string& name)> one;
  std::function<std::string()> all_text;
  std::function<std::string(const std::string& name)> one_text;
};

// [NAME] [--json|--csv].
void add_catalog(CLI::App& verb, Action& action, CatalogWords words);

}  // namespace refit
