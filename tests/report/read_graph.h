#pragma once

#include <graphviz/cgraph.h>

#include <memory>
#include <regex>
#include <string>

#include <catch2/catch.hpp>

namespace refit {

// A graph as the library itself reads our text back.
class ReadGraph {
 public:
  explicit ReadGraph(const std::string& text) : graph_(agmemread(text.c_str()), agclose) {
    REQUIRE(graph_ != nullptr);
  }

  int nodes() const { return agnnodes(graph_.get()); }
  int edges() const { return agnedges(graph_.get()); }
  int boxes() const { return agnsubg(graph_.get()); }
  std::string title() const { return agget(graph_.get(), const_cast<char*>("label")); }
  Agnode_t* node(const std::string& name) const {
    Agnode_t* node = agnode(graph_.get(), const_cast<char*>(name.c_str()), 0);
    REQUIRE(node != nullptr);
    return node;
  }
  Agedge_t* edge(const std::string& from, const std::string& to) const {
    return agedge(graph_.get(), node(from), node(to), nullptr, 0);
  }
  Agraph_t* box(const std::string& name) const {
    return agsubg(graph_.get(), const_cast<char*>(name.c_str()), 0);
  }

 private:
  std::unique_ptr<Agraph_t, decltype(&agclose)> graph_;
};

inline std::string attribute(void* object, const char* name) {
  const char* value = object == nullptr ? nullptr : agget(object, const_cast<char*>(name));
  return value == nullptr ? "(none)" : value;
}

// The words at an edge, without the table that keeps them clear of its line.
inline std::string words_at(Agedge_t* edge) {
  const std::string broken =
      std::regex_replace(attribute(edge, "label"), std::regex("<BR/>"), "\n");
  return std::regex_replace(broken, std::regex("<[^>]*>"), "");
}

}  // namespace refit
