#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "topology/cluster_yaml.h"
#include "topology/import/cluster_import.h"

namespace refit::detail {

inline constexpr const char* kFromFile = "the file";

// A cluster while it is made of files and answers: what was found, what is missing, and where each
// number is from.
struct ClusterDraft {
  ClusterDraft(const ClusterFiles& the_files, const ClusterAnswers& the_answers)
      : files(the_files), answers(the_answers) {
    if (answers.catalog) catalog = catalog_cluster(*answers.catalog);
  }

  const ClusterFiles& files;
  const ClusterAnswers& answers;
  std::optional<CatalogCluster> catalog;
  ImportedCluster result;
  bool is_first = true;  // group, whose sources are written down

  void missing(std::string option, std::string why) {
    for (const MissingAnswer& other : result.missing) {
      if (other.option == option) return;
    }
    result.missing.push_back({std::move(option), std::move(why)});
  }
  void note(std::string text) {
    if (std::find(result.notes.begin(), result.notes.end(), text) == result.notes.end())
      result.notes.push_back(std::move(text));
  }
  void note_all(const ImportNotes& texts) {
    for (const std::string& text : texts) note(text);
  }
  void source(const char* key, std::string from) {
    if (is_first) result.sources.emplace_back(key, std::move(from));
  }
  std::string from_catalog() const { return "catalog " + *answers.catalog; }
};

}  // namespace refit::detail
