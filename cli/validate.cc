#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/network_models.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/accuracy_page.h"
#include "report/validation_words.h"
#include "validation/accuracy.h"
#include "validation/validate.h"

namespace refit {
namespace {

struct ValidateOptions {
  std::optional<std::string> rows;
  std::optional<std::string> network_model;
  bool frozen = false;
  bool json = false;
  bool csv = false;
  bool page = false;
  std::string output = "-";
};

int validate(const ValidateOptions& options) {
  if (options.frozen && !options.rows) {
    throw Error(
        ErrorCode::bad_input,
        "--frozen: the rows that come with the program are those of the fit; name others with "
        "--rows FILE");
  }
  Progress progress("reading rows");
  const Say say = [&](const std::string& text) { progress.say(text); };
  if (options.page) {
    write_output(options.output, accuracy_page(accuracy(say)));
    return 0;
  }
  const std::vector<PublishedRow> rows =
      options.rows ? read_published_rows(*options.rows) : published_rows();
  const bool shipped = !options.network_model && !options.frozen;
  Validation validation =
      validate(rows, network_model_named(options.network_model.value_or("default")),
               shipped ? shipped_folds() : std::vector<Fold>{}, say);
  validation.source = options.rows.value_or("published refit times that come with the program");
  validation.frozen = options.frozen;
  write_output(options.output, options.json ? validation_json(validation)
                               : options.csv
                                   ? rows_table(validation).csv()
                                   : validation_table(validation, paint_of(options.output)));
  return 0;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("validate", "Predict published refit times and print how wrong it is");
  auto options = std::make_shared<ValidateOptions>();
  CLI::Option* rows = verb->add_option(
      "--rows", options->rows, "CSV of published times; default: those that come with the program");
  verb->add_flag("--frozen", options->frozen,
                 "The rows were in no fit: predict them with the constants as they are");
  CLI::Option* model = verb->add_option("--network-model", options->network_model,
                                        "Name or YAML file; default: default");
  CLI::Option* json =
      verb->add_flag("--json", options->json, "Print refit.validation/1 instead of tables");
  CLI::Option* csv = add_csv(*verb, options->csv, json);
  verb->add_flag("--page", options->page, "Print docs/accuracy.md instead of tables")
      ->excludes(rows)
      ->excludes(model)
      ->excludes(json)
      ->excludes(csv);
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] { action = [options] { return validate(*options); }; });
}

}  // namespace refit
