#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml.h"

namespace refit {

// A YAML document as a value that can be changed. Each part knows where it was written, so that
// what is put together from several files is complained about by file, line and column of its
// origin.
struct YamlTree {
  enum class Kind { nothing, scalar, list, map };
  Kind kind = Kind::nothing;
  std::string text;                                        // of a scalar
  std::vector<std::pair<std::string, YamlTree>> children;  // of a list: without keys
  std::string where;                                       // "sweep.yaml:7:31"
};

YamlTree tree_of(const YamlNode& node);
YamlTree scalar_tree(std::string text, std::string where);

// The keys of "cluster.groups[1].nodes", or Error(bad_input) that begins with `where`. An index is
// a key of digits.
std::vector<std::string> split_path(std::string_view path, const std::string& where);

// Null if there is nothing at the path.
const YamlTree* find_in(const YamlTree& root, const std::vector<std::string>& path);

// Replaces what is at the path, or adds it, with the maps on the way. Error(bad_input) at the place
// of `value` if the way leads through something that is no map.
void put_into(YamlTree& root, const std::vector<std::string>& path, YamlTree value);
// Takes a key of the outermost map away, if it is there.
void drop_from(YamlTree& root, std::string_view key);

// "400 Gbit/s", "[1, 2]", "{catalog: dgx_h100, nodes: 4}": on one line, as YAML.
std::string one_line(const YamlTree& tree);

// A tree as the text of a file, and where its lines come from.
class WrittenTree {
 public:
  // `name`: what messages about the text begin with.
  WrittenTree(const YamlTree& root, std::string name);

  const std::string& text() const { return text_; }
  // The message with each "name:line:column" of the text replaced by its origin.
  std::string with_origins(std::string_view message) const;

 private:
  using Place = std::pair<int, int>;  // line, column

  void add(std::string_view text) { text_ += text; }
  void note(const YamlTree& tree);
  void add_value(const YamlTree& tree, std::size_t indent);
  void add_lines(const YamlTree& tree, std::size_t indent, bool begun);
  void add_flow(const YamlTree& tree);

  std::string name_;
  std::string text_;
  std::map<Place, std::string> origins_;
  int line_ = 1;
  std::size_t line_begin_ = 0;
};

}  // namespace refit
