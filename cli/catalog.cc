#include "cli/catalog.h"

#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/terminal.h"

namespace refit {
namespace {

struct CatalogOptions {
  std::optional<std::string> name;
  bool json = false;
  bool csv = false;
};

std::string text_of(const CatalogWords& words, const CatalogOptions& options) {
  if (!options.json && !options.csv)
    return options.name ? words.one_text(*options.name) : words.all_text();
  const Table table = options.name ? words.one(*options.name) : words.all();
  return options.json ? table.json(words.schema) : table.csv();
}

}  // namespace

void add_catalog(CLI::App& verb, Action& action, CatalogWords words) {
  auto options = std::make_shared<CatalogOptions>();
  verb.add_option("NAME", options->name, words.name_help);
  CLI::Option* json =
      verb.add_flag("--json", options->json, "Print " + words.schema + " instead of a table");
  add_csv(verb, options->csv, json);
  verb.callback([&action, options, words = std::move(words)] {
    action = [options, words] {
      print(text_of(words, *options));
      return 0;
    };
  });
}

}  // namespace refit
