#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_kind.h"
#include "cli/cli11_fwd.h"
#include "cli/cluster_files.h"
#include "scenarios/import/imported.h"

namespace refit {

// A file about layouts, and what people add to it on the command line.
struct LayoutFileOptions {
  std::optional<std::string> nemo;
  std::vector<std::string> overrides;  // of a NeMo RL recipe: "a.b=c"
  ImportAnswers answers;               // but the nodes, which belong to the machines
  int entry = 0;                       // of several allocation strings
};

// `--model`, `--cluster`, `--set`: what a layout file does not say.
void add_layout_answers(CLI::App& verb, LayoutFileOptions& options);

// `--nemo RECIPE`, `--override` and the answers: a scenario from a recipe, without writing it.
void add_layout_files(CLI::App& verb, LayoutFileOptions& options);

// How one kind of file is read.
struct LayoutReader {
  FileKind kind;
  std::function<Imported(const std::string& file, const LayoutFileOptions&)> read;
};

// `error` about a file; if it is another kind of file, with that said first. For catchers.
Error naming_file(const Error& error, const std::string& file,
                  std::initializer_list<FileKind> expected);

// The scenario as text, with machines from files or by name. What was left out goes to standard
// error. A wrong file is named: "x.xml: this is an NCCL graph file; expected ...".
std::string layout_scenario(const LayoutReader& reader, const std::string& file,
                            const LayoutFileOptions& options, const ClusterFileOptions& machines);

// The same for --nemo.
std::string nemo_scenario(const LayoutFileOptions& options, const ClusterFileOptions& machines);

// Error(bad_input) if answers are given and no file that they could complete.
void require_layout(const LayoutFileOptions& options);

}  // namespace refit
