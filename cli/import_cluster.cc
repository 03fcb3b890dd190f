#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/cluster_files.h"
#include "cli/import_kinds.h"
#include "cli/output.h"

namespace refit {
namespace {

struct ImportClusterOptions {
  ClusterFileOptions cluster;
  std::string output = "-";
};

int import_cluster(const ImportClusterOptions& options) {
  for (const std::string& file : options.cluster.files) require_other_file(file, options.output);
  write_output(options.output, cluster_text(read_cluster_files(options.cluster)));
  return 0;
}

}  // namespace

void add_import_cluster(CLI::App& import, Action& action) {
  CLI::App* verb = import.add_subcommand("cluster", "Machines, from what tools say about them");
  auto options = std::make_shared<ImportClusterOptions>();
  verb->add_option("FILES", options->cluster.files,
                   "One about a node (NCCL topology XML, output of nvidia-smi topo -m or -mp), one "
                   "about what joins nodes\n(output of ibnetdiscover, topology of Slurm or "
                   "topograph), or both; told by their content")
      ->required();
  add_cluster_answers(*verb, options->cluster);
  verb->add_flag("--keep-names", options->cluster.keep_names,
                 "Names of NICs and leaves go into comments; without it nothing names a machine");
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] { action = [options] { return import_cluster(*options); }; });
}

}  // namespace refit
