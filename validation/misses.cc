#include "validation/misses.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/yaml.h"

namespace refit {

std::span<const EmbeddedFile> miss_files();  // generated from data/misses.yaml

Misses read_misses(const std::string& text, const std::string& name) {
  Misses misses;
  for (const auto& [id, node] : YamlNode::parse_text(text, name).entries()) {
    if (node.text().empty()) node.fail("expected a paragraph on why the prediction is off");
    misses[id] = node.text();
  }
  return misses;
}

Misses shipped_misses() {
  return read_misses(std::string(miss_files().front().text), "validation/data/misses.yaml");
}

void require_explained(const Validation& validation, const Misses& misses) {
  std::size_t explained = 0;
  for (const ValidationRow& row : validation.rows) {
    if (misses.contains(row.id) && !row.is_miss()) {
      throw Error(
          ErrorCode::check_failed,
          fmt::format("misses: {} is within 25 % now ({:+.1f} % left out); take its paragraph "
                      "out of validation/data/misses.yaml",
                      row.id, 100 * row.held_out_error()));
    }
    if (!row.is_miss()) continue;
    if (!misses.contains(row.id)) {
      throw Error(ErrorCode::check_failed,
                  fmt::format("misses: {} is off by {:+.1f} % left out; say why in "
                              "validation/data/misses.yaml",
                              row.id, 100 * row.held_out_error()));
    }
    ++explained;
  }
  if (explained == misses.size()) return;
  for (const auto& [id, text] : misses) {
    const auto found = std::ranges::find(validation.rows, id, &ValidationRow::id);
    if (found != validation.rows.end()) continue;
    throw Error(ErrorCode::check_failed,
                fmt::format("misses: {} is no predicted row; take its paragraph out of "
                            "validation/data/misses.yaml",
                            id));
  }
}

}  // namespace refit
