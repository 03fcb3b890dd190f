#include <span>

#include <fmt/format.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/shown.h"
#include "models/import/hf_config.h"

namespace refit {

std::span<const EmbeddedFile> embedded_model_configs();  // generated from models/catalog/*.json

std::vector<std::string> catalog_models() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_model_configs()) names.emplace_back(file.name);
  return names;
}

ModelSpec catalog_model(const std::string& name, const HfConfigOptions& options) {
  std::string known;
  for (const EmbeddedFile& file : embedded_model_configs()) {
    if (file.name == name) return parse_hf_config(std::string(file.text), name, options);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", file.name);
  }
  throw Error(ErrorCode::bad_input,
              fmt::format("model '{}' is not in the catalog; use one of {}", shown(name), known));
}

}  // namespace refit
