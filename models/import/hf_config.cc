#include "models/import/hf_config.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/text_file.h"
#include "models/import/hf_families.h"
#include "models/import/hf_json.h"
#include "models/import/hf_keys.h"

namespace refit {
namespace {

const HfFamily& find_family(const std::string& architecture, const HfKeys& root) {
  std::string known;
  for (const HfFamily& family : hf_families()) {
    if (family.architecture == architecture) return family;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.architecture);
  }
  root.fail("architectures",
            fmt::format("'{}' is not known; known are {}", shown(architecture), known));
}

// Multimodal configurations nest the language model; some keep these two keys outside only.
std::string read_architecture(const HfKeys& root, const HfKeys& text) {
  const HfKeys& keys = root.has("architectures") ? root : text;
  const std::vector<std::string> architectures = keys.words("architectures");
  if (architectures.size() != 1) {
    keys.fail("architectures", fmt::format("expected one name, got {}", architectures.size()));
  }
  return architectures.front();
}

bool read_tied(const HfFamily& family, const HfKeys& root, const HfKeys& text) {
  return text.flag("tie_word_embeddings", root.flag("tie_word_embeddings", family.tied));
}

ModelSpec read(const std::string& json, const std::string& where, const std::string& name,
               const HfConfigOptions& options) {
  const nlohmann::json document = parse_hf_json(json, where);
  const HfKeys root(document, where);
  const HfKeys text = root.has("text_config") ? root.object("text_config") : root;

  ModelSpec spec;
  spec.name = name;
  spec.architecture = read_architecture(root, text);
  const HfFamily& family = find_family(spec.architecture, root);
  if (root.has("_provenance")) spec.provenance = root.text("_provenance");
  spec.hidden = text.size("hidden_size");
  const bool has_vocab = text.has("vocab_size") || family.vocab == 0;
  spec.vocab = has_vocab ? text.size("vocab_size") : family.vocab;
  spec.tied_embeddings = read_tied(family, root, text);

  TensorList tensors(options, where);
  HfModel model{text, spec, tensors};
  family.list(model);
  spec.tensors = std::move(tensors).take();
  return spec;
}

ModelSpec parse(const std::string& json, const std::string& where, const std::string& name,
                const HfConfigOptions& options) {
  try {
    return read(json, where, name, options);
  } catch (const HfKeyError& error) {
    throw Error(error.code(), fmt::format("{}:{}: {}", where, place_of_key(json, error.path()),
                                          error.complaint()));
  }
}

// "runs/qwen3-8b/config.json" is the model "qwen3-8b", and so is "qwen3-8b.config.json".
std::string model_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view suffix : {".json", ".config"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  const std::string folder = path.parent_path().filename().string();
  return name == "config" && !folder.empty() ? folder : name;
}

}  // namespace

ModelSpec parse_hf_config(const std::string& json, const std::string& name,
                          const HfConfigOptions& options) {
  return parse(json, name, name, options);
}

ModelSpec load_hf_config(const std::string& path, const HfConfigOptions& options) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostConfigBytes + 1, '\0');  // one more than is allowed tells when to refuse
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() ||
      (file.gcount() == 0 && std::filesystem::is_directory(path))) {
    throw Error(ErrorCode::environment,
                fmt::format("{}: can't be read; give the path of a config.json", path));
  }
  note_read(path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse(text, path, model_name(path), options);
}

}  // namespace refit
