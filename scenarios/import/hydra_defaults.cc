#include "scenarios/import/hydra_defaults.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/text_file.h"
#include "base/yaml.h"

namespace refit {
namespace {

using Kind = HydraNode::Kind;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
// A chain of files has four or so; a list of lists could have any number.
constexpr std::size_t kMostFiles = 64;

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, message));
}

// The files that one stands on, read before it.
class Chain {
 public:
  HydraNode load(const std::string& path) { return read(read_text_file(path, kMostBytes), path); }

  HydraNode read(const std::string& text, const std::string& path) {
    if (++files_ > kMostFiles)
      fail(path, fmt::format("more than {} files in a chain of defaults", kMostFiles));
    HydraNode own = hydra_node_of(YamlNode::parse_text_with_merges(text, path));
    if (own.kind != Kind::map) fail(own.where, "expected a map of settings");
    const HydraNode* defaults = own.child("defaults");
    if (defaults == nullptr) return own;
    open_.push_back(std::filesystem::path(path).lexically_normal().string());
    HydraNode base{Kind::map, {}, own.where, {}};
    for (const HydraNode* file : files_of(*defaults)) merge_hydra(base, below(*file, path));
    open_.pop_back();
    own.remove("defaults");
    merge_hydra(base, std::move(own));
    return base;
  }

 private:
  static std::vector<const HydraNode*> files_of(const HydraNode& defaults) {
    std::vector<const HydraNode*> files;
    if (defaults.kind == Kind::scalar) return {&defaults};
    if (defaults.kind != Kind::list)
      fail(defaults.where, "defaults: expected the path of a file, or a list of paths");
    for (const auto& [none, item] : defaults.children) {
      if (item.kind != Kind::scalar)
        fail(item.where, "defaults: expected the path of a file; config groups are not read");
      files.push_back(&item);
    }
    return files;
  }

  HydraNode below(const HydraNode& file, const std::string& from) {
    namespace fs = std::filesystem;
    if (file.text == "_self_") return {Kind::map, {}, file.where, {}};
    const fs::path beside = fs::path(from).parent_path() / file.text;
    const std::string path = beside.lexically_normal().string();
    const auto before = std::find(open_.begin(), open_.end(), path);
    if (before != open_.end()) {
      std::string cycle;
      for (auto at = before; at != open_.end(); ++at)
        cycle += fs::path(*at).filename().string() + " -> ";
      fail(file.where, fmt::format("defaults: a cycle: {}{}; take one of them out", cycle,
                                   beside.filename().string()));
    }
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored))
      throw Error(ErrorCode::environment,
                  fmt::format("{}: defaults: there is no file {}; keep the folders as they are, "
                              "paths are relative to the file that names them",
                              file.where, shown(path, 200)));
    return load(path);
  }

  std::size_t files_ = 0;  // that were read
  std::vector<std::string> open_;
};

}  // namespace

HydraNode load_with_defaults(const std::string& path) { return Chain().load(path); }

HydraNode read_with_defaults(const std::string& text, const std::string& path) {
  return Chain().read(text, path);
}

}  // namespace refit
