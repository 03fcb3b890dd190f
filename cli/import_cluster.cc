#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file_kind.h"
#include "cli/import_kinds.h"
#include "cli/output.h"

namespace refit {
namespace {

struct ImportClusterOptions {
  std::vector<std::string> files;
  std::string output = "-";
};

int import_cluster(const ImportClusterOptions& options) {
  for (const std::string& file : options.files) {
    require_other_file(file, options.output);
    throw Error(ErrorCode::bad_input, fmt::format("{}: this is {}; expected a file about machines",
                                                  file, words_of(file_kind(read_file(file)))));
  }
  return 0;
}

}  // namespace

void add_import_cluster(CLI::App& import, Action& action) {
  CLI::App* verb = import.add_subcommand("cluster", "Machines, from what tools say about them");
  auto options = std::make_shared<ImportClusterOptions>();
  verb->add_option("FILES", options->files, "Told by their content")->required();
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] { action = [options] { return import_cluster(*options); }; });
}

}  // namespace refit
