#include "cli/layout_files.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output.h"
#include "scenarios/import/nemo_rl.h"

namespace refit {
namespace {

Imported read_nemo(const std::string& file, const LayoutFileOptions& options) {
  return load_nemo_rl(file, options.overrides);
}

// Answers about a node or its wires belong to files about machines.
void require_only_nodes(const ClusterFileOptions& machines) {
  ClusterFileOptions others = machines;
  others.nodes.reset();
  if (machines.files.empty()) require_machines(others);
}

}  // namespace

void add_layout_answers(CLI::App& verb, LayoutFileOptions& options) {
  verb.add_option("--model", options.answers.model,
                  "A name of the catalog, a config.json, or other files with all weights in them");
  verb.add_option("--cluster", options.answers.cluster,
                  "A name of the catalog (as many --nodes as the file needs, or more), or a YAML "
                  "file");
  verb.add_option("--set", options.answers.set,
                  "KEY=VALUE, may be repeated: a key of the scenario, such as generation.tensor=8")
      ->take_all();
}

void add_layout_files(CLI::App& verb, LayoutFileOptions& options) {
  verb.add_option("--nemo", options.nemo,
                  "A recipe of NeMo RL instead of SCENARIO, with the files of its defaults");
  verb.add_option("--override", options.overrides,
                  "Of the recipe, may be repeated: a.b=c, +a.b=c, ++a.b=c, ~a.b")
      ->take_all();
  add_layout_answers(verb, options);
}

Error naming_file(const Error& error, const std::string& file,
                  std::initializer_list<FileKind> expected) {
  if (error.code() != ErrorCode::bad_input) return error;
  const FileKind kind = file_kind(read_file(file));
  const bool is_right = std::find(expected.begin(), expected.end(), kind) != expected.end();
  if (is_right || kind == FileKind::unknown) return error;
  return Error(error.code(), fmt::format("{}: this is {}; expected {}", file, words_of(kind),
                                         words_of(*expected.begin())));
}

std::string layout_scenario(const LayoutReader& reader, const std::string& file,
                            const LayoutFileOptions& options, const ClusterFileOptions& machines) {
  ImportAnswers answers = options.answers;
  answers.nodes = machines.nodes;
  Imported imported;
  try {
    // Its strings would read as flags, of all branches at once.
    if (file_kind(read_file(file)) == FileKind::python)
      throw Error(ErrorCode::bad_input, fmt::format("{}: a program", file));
    imported = reader.read(file, options);
  } catch (const Error& error) {
    throw naming_file(error, file, {reader.kind});
  }
  if (!machines.files.empty()) {
    if (answers.cluster)
      throw Error(ErrorCode::bad_input, "--cluster and --nccl-topo both say which machines");
    answers.cluster_yaml = cluster_text(read_cluster_files(machines));
  } else {
    require_only_nodes(machines);
  }
  // Also where something is missing: a note may say why.
  for (const std::string& line : imported.left_out)
    print_note(fmt::format("{}: {}", imported.format, line));
  return scenario_text(imported, answers);
}

std::string nemo_scenario(const LayoutFileOptions& options, const ClusterFileOptions& machines) {
  return layout_scenario({FileKind::nemo_recipe, read_nemo}, *options.nemo, options, machines);
}

void require_layout(const LayoutFileOptions& options) {
  if (options.nemo) return;
  const ImportAnswers& answers = options.answers;
  if (options.overrides.empty() && !answers.model && !answers.cluster && answers.set.empty())
    return;
  throw Error(ErrorCode::bad_input,
              "--override, --model, --cluster and --set complete a recipe of --nemo; a scenario "
              "says these things itself");
}

}  // namespace refit
