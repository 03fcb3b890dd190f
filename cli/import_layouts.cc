#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/import_kinds.h"
#include "cli/layout_files.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "scenarios/import/areal.h"
#include "scenarios/import/m2n_system.h"
#include "scenarios/import/megatron_args.h"
#include "scenarios/import/nemo_rl.h"
#include "scenarios/import/verl.h"
#include "scenarios/layout_error.h"
#include "scenarios/scenario.h"

namespace refit {
namespace {

struct ImportLayoutOptions {
  std::string file;
  LayoutFileOptions layout;
  ClusterFileOptions machines;
  std::string output = "-";
};

int import_layout(const LayoutReader& reader, ImportLayoutOptions options) {
  require_other_file(options.file, options.output);
  namespace fs = std::filesystem;
  const fs::path folder =
      options.output == "-" ? fs::path() : fs::path(options.output).parent_path();
  options.layout.answers.folder = folder.string();
  const std::string text = layout_scenario(reader, options.file, options.layout, options.machines);
  // What is written must be read again; layouts that are not legal are the file's own.
  std::string findings;
  try {
    const std::string name = fs::path(options.file).filename().string() + " as a scenario";
    parse_scenario(text, (folder / name).string());
  } catch (const LayoutError& error) {
    for (const std::string& finding : error.findings()) findings += "\n  " + finding;
  }
  write_output(options.output, text);
  if (findings.empty()) return 0;
  throw Error(ErrorCode::check_failed,
              fmt::format("{}: written, but not legal, as refit check will say:{}", options.file,
                          findings));
}

void add_kind(CLI::App& import, Action& action, const char* name, const char* help,
              const LayoutReader& reader, bool has_overrides = false, bool has_entries = false) {
  CLI::App* verb = import.add_subcommand(name, help);
  auto options = std::make_shared<ImportLayoutOptions>();
  verb->add_option("FILE", options->file, "- of which a scenario is made")->required();
  if (has_overrides) {
    verb->add_option("--override", options->layout.overrides,
                     "Of the recipe, may be repeated: a.b=c, +a.b=c, ++a.b=c, ~a.b")
        ->take_all();
  }
  if (has_entries) {
    verb->add_option("--entry", options->layout.entry,
                     "Which of several allocation strings, from 1")
        ->check(number_from(1, 1'000'000));
  }
  add_layout_answers(*verb, options->layout);
  add_cluster_files(*verb, options->machines);
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options, reader] {
    action = [options, reader] { return import_layout(reader, *options); };
  });
}

}  // namespace

void add_import_layouts(CLI::App& import, Action& action) {
  add_kind(import, action, "nemo", "A scenario from a recipe of NeMo RL",
           {FileKind::nemo_recipe,
            [](const std::string& file, const LayoutFileOptions& options) {
              return load_nemo_rl(file, options.overrides);
            }},
           true);
  const LayoutReader flags{FileKind::megatron_flags,
                           [](const std::string& file, const LayoutFileOptions& options) {
                             return load_megatron_args(read_file(file), file, options.answers);
                           }};
  add_kind(import, action, "megatron", "A scenario from flags of Megatron-LM", flags);
  add_kind(import, action, "slime", "A scenario from flags of slime or miles", flags);
  add_kind(import, action, "verl", "A scenario from Hydra overrides of verl",
           {FileKind::hydra_words, [](const std::string& file, const LayoutFileOptions& options) {
              return read_verl(read_file(file), file, options.answers);
            }});
  add_kind(import, action, "areal", "A scenario from an allocation string of AReaL",
           {FileKind::areal_allocation,
            [](const std::string& file, const LayoutFileOptions& options) {
              return read_areal(read_file(file), file, options.entry);
            }},
           false, true);
  add_kind(import, action, "m2n-system", "A scenario from a system JSON of NCCL M2N's model bench",
           {FileKind::m2n_system, [](const std::string& file, const LayoutFileOptions& options) {
              return read_m2n_system(read_file(file), file, options.answers);
            }});
}

}  // namespace refit
