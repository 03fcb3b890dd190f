#include "report/drawing.h"

#include <graphviz/cgraph.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"

namespace refit {
namespace {

// cgraph takes char* for texts that it copies at once.
char* c(const char* text) { return const_cast<char*>(text); }
char* c(const std::string& text) { return const_cast<char*>(text.c_str()); }

// How cgraph numbers and names the objects of a graph. Left to itself it takes addresses for
// numbers, and the boxes of equal graphs are then written in different orders; this counts.
// Names are texts of cgraph's own: it looks in front of them for whether they are HTML.
class Numbering {
 public:
  explicit Numbering(Agraph_t* graph) : graph_(graph) {}

  static Agiddisc_t* discipline() {
    static Agiddisc_t discipline = {open, map, alloc, free, print, close, idregister};
    return &discipline;
  }

 private:
  // Edges have no name: they are only counted.
  IDTYPE next(int kind, const char* name) {
    ++count_;
    if (name != nullptr) {
      id_of_[{kind, name}] = count_;
      name_of_[count_] = agstrdup(graph_, c(name));
    }
    return count_;
  }

  static void* open(Agraph_t* graph, Agdisc_t*) { return new Numbering(graph); }
  static void close(void* state) { delete static_cast<Numbering*>(state); }
  static long map(void* state, int kind, char* name, IDTYPE* id, int create) {
    auto& self = *static_cast<Numbering*>(state);
    if (name != nullptr) {
      const auto known = self.id_of_.find({kind, name});
      if (known != self.id_of_.end()) {
        *id = known->second;
        return 1;
      }
    }
    if (create == 0) return 0;
    *id = self.next(kind, name);
    return 1;
  }
  static char* print(void* state, int, IDTYPE id) {
    auto& self = *static_cast<Numbering*>(state);
    const auto known = self.name_of_.find(id);
    return known == self.name_of_.end() ? nullptr : known->second;
  }
  static long alloc(void*, int, IDTYPE) { return 0; }
  static void free(void*, int, IDTYPE) {}
  static void idregister(void*, int, void*) {}

  Agraph_t* graph_;
  IDTYPE count_ = 0;
  std::map<std::pair<int, std::string>, IDTYPE> id_of_;
  std::map<IDTYPE, char*> name_of_;  // until the graph is closed
};

Agraph_t* open_graph(const std::string& name) {
  Agdisc_t disciplines = {nullptr, Numbering::discipline(), nullptr};  // null: the library's own
  return agopen(c(name), Agdirected, &disciplines);
}

void set_all(void* object, Drawing::Looks looks) {
  for (const auto& [key, value] : looks) agsafeset(object, c(key), c(value), c(""));
}

std::string value(Drawing::Looks looks, std::string_view wanted) {
  for (const auto& [key, value] : looks)
    if (key == wanted) return value;
  return {};
}

// `dot` sets the words of an edge against the middle of its line, and half of the line is then over
// them. A text has no margin there; a table has.
std::string with_room(const std::string& label, const std::string& penwidth) {
  const double width = penwidth.empty() ? 1 : std::strtod(penwidth.c_str(), nullptr);
  std::string words = in_table(label);
  constexpr std::string_view kNewLine = "\\n";
  for (auto at = words.find(kNewLine); at != std::string::npos; at = words.find(kNewLine, at))
    words.replace(at, kNewLine.size(), "<BR/>");
  return fmt::format(
      "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"{}\"><TR><TD>{}"
      "</TD></TR></TABLE>",
      1 + static_cast<int>(std::ceil(width / 2)), words);
}

}  // namespace

Drawing::Drawing(const std::string& title, Looks nodes, Looks edges)
    : graph_(open_graph("refit"), agclose) {
  if (graph_ == nullptr) throw std::bad_alloc();
  // What boxes inherit: an empty label, so that the title is the graph's alone.
  agattr(root(), AGRAPH, c("label"), c(""));
  for (const int kind : {AGRAPH, AGNODE, AGEDGE}) {
    agattr(root(), kind, c("fontname"), c("Helvetica,Arial,sans-serif"));
    agattr(root(), kind, c("fontsize"), c(kind == AGEDGE ? "10" : "12"));
  }
  for (const auto& [key, value] : nodes) agattr(root(), AGNODE, c(key), c(value));
  for (const auto& [key, value] : edges) agattr(root(), AGEDGE, c(key), c(value));
  // A ground of its own: the picture is as readable on a dark page.
  set_all(root(), {{"label", title},
                   {"labelloc", "t"},
                   {"labeljust", "l"},
                   {"bgcolor", "#ffffff"},
                   {"pad", "0.2"}});
}

void Drawing::set(Graph graph, Looks looks) { set_all(graph, looks); }

Drawing::Graph Drawing::box(Graph in, const std::string& name, Looks looks) {
  Graph box = agsubg(in, c("cluster_" + name), 1);  // `dot` draws a box by the name's prefix
  set_all(box, looks);
  return box;
}

Drawing::Node Drawing::node(Graph in, const std::string& name, Looks looks) {
  Node node = agnode(in, c(name), 1);
  set_all(node, looks);
  return node;
}

Drawing::Edge Drawing::edge(Node from, Node to, Looks looks) {
  Edge edge = agedge(root(), from, to, nullptr, 1);
  set_all(edge, looks);
  const std::string label = value(looks, "label");
  if (!label.empty()) label_with(edge, with_room(label, value(looks, "penwidth")));
  return edge;
}

void Drawing::set_table(Node node, const std::string& table) { label_with(node, table); }

void Drawing::label_with(void* object, const std::string& table) {
  char* text = agstrdup_html(root(), c(table));
  agsafeset(object, c("label"), text, c(""));
  agstrfree(root(), text);  // the object has it now
}

std::string Drawing::text() {
  char* buffer = nullptr;
  std::size_t size = 0;
  FILE* memory = open_memstream(&buffer, &size);
  if (memory == nullptr) throw std::bad_alloc();
  const bool written = agwrite(root(), memory) == 0;
  const bool closed = std::fclose(memory) == 0;
  const std::unique_ptr<char, decltype(&std::free)> owned(buffer, std::free);
  REFIT_CHECK(written && closed);
  return std::string(buffer, size);
}

std::string width_of(double bytes, double largest) {
  constexpr double kLeast = 0.5, kMost = 6;
  return fmt::format("{:.2f}", kLeast + (kMost - kLeast) * (largest > 0 ? bytes / largest : 0));
}

std::string plain(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

std::string in_table(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string strip(double from, double to, int points) {
  // At least a point, so that what is there shows.
  const int begin = std::clamp(static_cast<int>(std::lround(from * points)), 0, points - 1);
  const int end = std::clamp(static_cast<int>(std::lround(to * points)), begin + 1, points);
  std::string cells;
  const auto add = [&](int width, const char* look) {
    if (width > 0)
      cells += fmt::format("<TD FIXEDSIZE=\"TRUE\" WIDTH=\"{}\" HEIGHT=\"5\"{}></TD>", width, look);
  };
  add(begin, "");
  add(end - begin, " BGCOLOR=\"#1f4e79\"");
  add(points - end, "");
  return "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR>" + cells +
         "</TR></TABLE>";
}

}  // namespace refit
