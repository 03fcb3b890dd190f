#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

// Of cgraph, which shows in drawing.cc only.
struct Agraph_s;
struct Agnode_s;
struct Agedge_s;

namespace refit {

// Fills that black text stands on, whatever the page behind the picture; words say the same.
inline constexpr const char* kSourceColour = "#dbe9f6";       // blue
inline constexpr const char* kDestinationColour = "#e3f1dc";  // green
inline constexpr const char* kBothColour = "#f6ecd2";         // sand
inline constexpr const char* kNeitherColour = "#f2f2f2";

// How much a picture may have before somebody has to search it.
inline constexpr std::size_t kMostNodes = 60;
inline constexpr std::size_t kMostEdges = 150;

// A DOT graph under construction. Equal calls make equal texts. The library below it quotes what
// needs quotes, and is not thread-safe.
class Drawing {
 public:
  using Graph = Agraph_s*;
  using Node = Agnode_s*;
  using Edge = Agedge_s*;
  using Looks = std::initializer_list<std::pair<const char*, std::string>>;  // attributes

  // `title`: lines over the picture. All nodes and edges have the looks that they don't set.
  Drawing(const std::string& title, Looks nodes, Looks edges);

  Graph root() { return graph_.get(); }
  void set(Graph graph, Looks looks);
  // A box drawn around the nodes made in it.
  Graph box(Graph in, const std::string& name, Looks looks);
  Node node(Graph in, const std::string& name, Looks looks);
  // Its label is kept clear of the line.
  Edge edge(Node from, Node to, Looks looks);
  // A label in Graphviz's own table language, which looks like HTML.
  void set_table(Node node, const std::string& table);

  std::string text();

 private:
  void label_with(void* object, const std::string& table);

  std::unique_ptr<Agraph_s, int (*)(Agraph_s*)> graph_;
};

// As an edge's width: from a hair to six points, the largest.
std::string width_of(double bytes, double largest);

// A text of somebody else's, for a label: backslashes mean nothing in it.
std::string plain(const std::string& text);

// The same for a table.
std::string in_table(const std::string& text);

// A table that is a strip of so many points, dark from one share of its length to another.
std::string strip(double from, double to, int points);

}  // namespace refit
