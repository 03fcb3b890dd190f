#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/hydra_node.h"

namespace refit {

// A scalar that somebody asked for, with its references followed.
struct HydraValue {
  std::string text;
  std::string path;   // "policy.megatron_cfg.tensor_model_parallel_size"
  std::string where;  // of what set it

  // Error(bad_input): "where: path: what is wrong; what would be right".
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  bool boolean() const;
  double number() const;
  [[noreturn]] void fail(const std::string& message) const;
};

// A configuration as Hydra and OmegaConf make it: files that stand on others (`defaults:`), words
// of a command line on top, and ${references} that are followed when somebody asks.
class HydraConfig {
 public:
  HydraConfig() = default;  // empty

  // The file, and all that its `defaults:` names, as NeMo RL reads them: a path or a list of paths
  // beside the file; a map replaces another only if it holds `_override_: true`. Error(bad_input)
  // names a cycle.
  static HydraConfig load(const std::string& path);
  static HydraConfig parse(const std::string& text, const std::string& name);

  // `a.b=c` changes what is there, `+a.b=c` adds, `++a.b=c` does either, `~a.b` takes away.
  // Without a base the configuration is not here to be compared with, and `a.b=c` adds, too.
  void apply(const std::string& word, bool has_base = true);

  // Nothing if it is missing or null.
  std::optional<HydraValue> find(const std::string& path);
  bool flag(const std::string& path, bool otherwise);
  std::int64_t integer(const std::string& path, std::int64_t least, std::int64_t most,
                       std::int64_t otherwise);
  // The scalars of a list, or of one scalar; empty if it is missing or null.
  std::vector<std::string> words(const std::string& path);
  bool is_null(const std::string& path) const;  // written as null
  const HydraNode* node(const std::string& path) const;

  // Full paths of the scalars below `path` that nobody asked for and that are not null, in order.
  std::vector<HydraValue> not_asked(const std::string& path) const;
  bool was_asked(const std::string& path) const { return asked_.count(path) > 0; }

  const HydraNode& root() const { return root_; }

 private:
  HydraNode root_{HydraNode::Kind::map, {}, {}, {}};
  std::set<std::string> asked_;
};

// "${mul:${a.b}, 2}" and the like, evaluated in `root`; `path` is where the text stands. For
// HydraConfig. Nothing if it is a reference to null or to nothing.
std::optional<std::string> hydra_text(const HydraNode& root, const std::string& path,
                                      const HydraNode& node);
// The node at a path, through references to maps and lists.
const HydraNode* hydra_node(const HydraNode& root, const std::string& path);

}  // namespace refit
