#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_kind.h"
#include "base/shown.h"
#include "base/text_file.h"
#include "base/units.h"
#include "cli/import_kinds.h"
#include "cli/layout_files.h"
#include "cli/output.h"
#include "models/import/hf_json.h"
#include "models/import/model_file.h"

namespace refit {
namespace {

struct ImportModelOptions {
  std::string file;
  std::optional<std::string> model;  // to compare an index with
  std::string output = "-";
  bool is_config = false;  // of Hugging Face, which says types apart from shapes
};

// The model of the catalog with the same tensors, of the same sizes.
std::string same_in_catalog(const ModelSpec& model) {
  const auto shapes = [](const ModelSpec& m) {
    std::set<std::string> lines;  // in any order
    for (const TensorSpec& t : m.tensors) {
      if (t.scales || t.mtp) continue;
      std::string line = t.name;
      for (const TensorDim& dim : t.dims) line += fmt::format(" {}", dim.size);
      lines.insert(line);
    }
    return lines;
  };
  std::string names;
  for (const std::string& name : catalog_models()) {
    const ModelSpec other = catalog_model(name);
    if (other.layers == model.layers && other.hidden == model.hidden &&
        other.parameters() == model.parameters() && shapes(other) == shapes(model))
      names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

// "1 layer", "2 layers".
std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", format_count(count), what, count == 1 ? "" : "s");
}

std::string model_words(const ModelSpec& model) {
  std::string text =
      fmt::format("# {}: {}, {}, {}\n", model.name, counted(model.parameters(), "parameter"),
                  counted(model.bytes(), "byte"), counted(model.checkpoint_tensors(), "tensor"));
  text += fmt::format(
      "# {}, hidden size {}, {}", counted(model.layers, "layer"), format_count(model.hidden),
      model.vocab == 0 ? "no vocabulary" : fmt::format("vocabulary {}", format_count(model.vocab)));
  if (model.experts > 0) text += fmt::format(", {} a layer", counted(model.experts, "expert"));
  if (model.heads.kv_heads > 0)
    text += fmt::format(", {} query and {} of {}", model.heads.q_heads,
                        counted(model.heads.kv_heads, "key head"), model.heads.head_dim);
  if (model.tied_embeddings) text += ", no head of its own";
  return text + "\n";
}

ModelSpec model_of_file(const std::string& file) {
  try {
    return load_model(file);
  } catch (const Error& error) {
    throw naming_file(error, file,
                      {FileKind::hf_config, FileKind::m2n_model, FileKind::safetensors_index,
                       FileKind::binary, FileKind::json});
  }
}

// What the config.json says of the types of its weights, and of parts that no model here has. The
// model has the shapes only: which type a side holds is for the scenario to say.
std::vector<std::string> config_notes(const std::string& file) {
  const nlohmann::json document = parse_hf_json(read_file(file), file);
  const auto inner = document.find("text_config");
  const auto find = [&](const char* key) -> const nlohmann::json* {
    for (const nlohmann::json* object :
         {inner != document.end() && inner->is_object() ? &*inner : &document, &document}) {
      const auto found = object->find(key);
      if (found != object->end() && !found->is_null()) return &*found;
    }
    return nullptr;
  };
  std::vector<std::string> notes;
  const nlohmann::json* dtype = find("dtype");
  if (dtype == nullptr) dtype = find("torch_dtype");
  if (dtype == nullptr) {
    notes.push_back("no dtype is in the file; weights count as bf16");
  } else if (!dtype->is_string()) {
    notes.push_back(fmt::format("dtype: {} is no name; weights count as bf16",
                                shown(dtype->dump(-1, ' ', true))));
  } else if (const auto name = dtype->get<std::string>(); name != "bfloat16" && name != "auto") {
    notes.push_back(
        fmt::format("dtype: {} is not taken over; weights count as bf16: say precision: "
                    "of the sides, or dtype: of the model",
                    shown(name)));
  }
  for (const char* part : {"vision_config", "audio_config"}) {
    if (document.contains(part) && document[part].is_object())
      notes.push_back(fmt::format("{}: only the language model is counted", part));
  }
  const nlohmann::json* quantized = find("quantization_config");
  if (quantized == nullptr) return notes;
  const auto method = quantized->is_object() ? quantized->find("quant_method") : quantized->end();
  const std::string called =
      quantized->is_object() && method != quantized->end() && method->is_string()
          ? shown(method->get<std::string>())
          : "of no method that is said";
  const bool in_blocks = called == "fp8" && quantized->contains("weight_block_size");
  notes.push_back(fmt::format(
      "quantization_config: {} is not taken over, so scales and smaller weights are not "
      "counted: {}",
      called,
      in_blocks           ? "say precision: fp8_blockwise of the side that holds such weights"
      : called == "mxfp4" ? "say precision: mxfp4 of the side that holds such weights"
                          : "no precision of a scenario is known for it"));
  return notes;
}

// A file of another kind is named, also where it could make a model.
void require_kind(const std::string& file, std::initializer_list<FileKind> kinds,
                  const char* expected) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return;  // whoever reads it says why
  const FileKind kind = file_kind(read_text_file(file, std::size_t{1} << 20));
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: this is {}; expected {}", file, words_of(kind), expected));
}

int import_model(const ImportModelOptions& options) {
  require_other_file(options.file, options.output);
  const ModelSpec model = model_of_file(options.file);
  std::string text = model_words(model);
  if (options.is_config) {
    for (const std::string& note : config_notes(options.file)) {
      text += "# Note: " + note + ".\n";
      print_note(note);
    }
  }
  const std::string same = same_in_catalog(model);
  if (!same.empty()) text += fmt::format("# the tensors of {} in the catalog\n", same);
  namespace fs = std::filesystem;
  std::string path = options.file;
  if (options.output != "-" && !fs::path(path).is_absolute())
    path =
        fs::absolute(path).lexically_relative(fs::absolute(options.output).parent_path()).string();
  if (path.find('/') == std::string::npos) path = "./" + path;
  write_output(options.output, text + fmt::format("model: {}\n", path));
  return 0;
}

CheckpointIndex index_of_file(const std::string& file) {
  try {
    return parse_checkpoint_index(read_file(file), file);
  } catch (const Error& error) {
    throw naming_file(error, file, {FileKind::safetensors_index});
  }
}

// An index has names and perhaps a total: it can check a model, not make one.
int import_index(const ImportModelOptions& options) {
  require_other_file(options.file, options.output);
  const CheckpointIndex index = index_of_file(options.file);
  std::string text =
      fmt::format("# {}: {} in {}{}\n", options.file,
                  counted(static_cast<std::int64_t>(index.names.size()), "tensor"),
                  counted(static_cast<std::int64_t>(index.files), "file"),
                  index.total_bytes ? ", " + counted(*index.total_bytes, "byte") : "");
  std::optional<ModelSpec> model;
  std::string name;
  if (options.model) {
    const bool is_path =
        options.model->find('/') != std::string::npos || options.model->ends_with(".json");
    model = is_path ? load_model(*options.model) : catalog_model(*options.model);
    name = *options.model;
  } else {
    const auto beside = std::filesystem::path(options.file).parent_path() / "config.json";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(beside, ignored)) {
      model = load_model(beside.string());
      name = beside.string();
    }
  }
  if (!model) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: an index has names and no shapes, so no model follows from it: "
                            "say --model NAME or --model config.json, which it can check",
                            options.file));
  }
  const std::vector<std::string> wrong = differences(index, *model);
  if (!wrong.empty()) {
    std::string lines;
    for (const std::string& line : wrong) lines += "\n  " + line;
    throw Error(ErrorCode::check_failed,
                fmt::format("{}: is not the checkpoint of {}:{}", options.file, name, lines));
  }
  text += fmt::format("# the names{} are those of {}\nmodel: {}\n",
                      index.total_bytes ? " and the bytes" : "", name, name);
  write_output(options.output, text);
  return 0;
}

void add_kind(CLI::App& import, Action& action, const char* name, const char* help,
              int (*run)(const ImportModelOptions&)) {
  CLI::App* verb = import.add_subcommand(name, help);
  auto options = std::make_shared<ImportModelOptions>();
  verb->add_option("FILE", options->file, "- of which a model is made, or checked")->required();
  if (run == import_index)
    verb->add_option("--model", options->model,
                     "What to compare with: a name of the catalog or a config.json; default: the "
                     "config.json beside the index");
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
}

}  // namespace

void add_import_models(CLI::App& import, Action& action) {
  add_kind(import, action, "hf-config", "A model from a Hugging Face config.json",
           [](const ImportModelOptions& options) {
             require_kind(options.file, {FileKind::hf_config, FileKind::json},
                          "a config.json of Hugging Face");
             ImportModelOptions config = options;
             config.is_config = true;
             return import_model(config);
           });
  add_kind(import, action, "m2n-model", "A model from a model JSON of NCCL M2N's bench",
           [](const ImportModelOptions& options) {
             require_kind(options.file, {FileKind::m2n_model}, "a model file of NCCL M2N");
             return import_model(options);
           });
  add_kind(import, action, "safetensors",
           "A model from the header of a .safetensors file, or of all that an index lists",
           [](const ImportModelOptions& options) {
             if (!options.file.ends_with(".safetensors"))
               require_kind(options.file, {FileKind::safetensors_index},
                            "a file named .safetensors, or the index of a checkpoint");
             return import_model(options);
           });
  add_kind(import, action, "safetensors-index",
           "Compare names and bytes of a model.safetensors.index.json with a model", import_index);
}

}  // namespace refit
