#include "report/dot.h"

#include <graphviz/cgraph.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"

namespace refit {
namespace {

constexpr const char* kSourceColour = "#dbe9f6";       // blue
constexpr const char* kDestinationColour = "#e3f1dc";  // green
constexpr const char* kBothColour = "#f6ecd2";         // sand
constexpr const char* kNeitherColour = "#f2f2f2";
constexpr double kWidestEdge = 6;

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

// A graph under construction. The library quotes what needs quotes; it is not thread-safe.
class Drawing {
 public:
  explicit Drawing(const std::string& name) : graph_(open_graph(name), agclose) {
    if (graph_ == nullptr) throw std::bad_alloc();
  }

  Agraph_t* root() { return graph_.get(); }

  template <class Object>
  void set(Object* object, const char* key, const std::string& value) {
    agsafeset(object, c(key), c(value), c(""));
  }

  // Of all nodes (AGNODE) or edges (AGEDGE) that do not say otherwise.
  void set_default(int kind, const char* key, const char* value) {
    agattr(root(), kind, c(key), c(value));
  }

  Agraph_t* box(const std::string& name) { return agsubg(root(), c(name), 1); }
  Agnode_t* node(Agraph_t* graph, const std::string& name) { return agnode(graph, c(name), 1); }
  Agedge_t* edge(Agnode_t* from, Agnode_t* to) { return agedge(root(), from, to, nullptr, 1); }

  std::string text() {
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

 private:
  std::unique_ptr<Agraph_t, decltype(&agclose)> graph_;
};

struct Side {
  bool source = false;
  bool destination = false;

  const char* words() const {
    if (source && destination) return "source and destination";
    return source ? "source" : destination ? "destination" : "relay or idle";
  }
  const char* colour() const {
    if (source && destination) return kBothColour;
    return source ? kSourceColour : destination ? kDestinationColour : kNeitherColour;
  }
};

class Sides {
 public:
  explicit Sides(const Refit& refit) : of_rank_(static_cast<std::size_t>(refit.ranks)) {
    for (const Rank rank : refit.sources) of_rank_[rank.index()].source = true;
    for (const Rank rank : refit.destinations) of_rank_[rank.index()].destination = true;
  }

  const Side& of(Rank rank) const { return of_rank_[rank.index()]; }
  bool knows(Rank rank) const { return rank.index() < of_rank_.size(); }

  Side of(std::span<const Rank> ranks) const {
    Side side;
    for (const Rank rank : ranks) {
      if (!knows(rank)) continue;
      side.source = side.source || of(rank).source;
      side.destination = side.destination || of(rank).destination;
    }
    return side;
  }

 private:
  std::vector<Side> of_rank_;
};

void draw_edge(Drawing& drawing, Agnode_t* from, Agnode_t* to, double bytes, double largest) {
  Agedge_t* edge = drawing.edge(from, to);
  drawing.set(edge, "label", format_bytes(bytes));
  const double share = largest > 0 ? bytes / largest : 0;
  drawing.set(edge, "penwidth", fmt::format("{:.2f}", 0.5 + (kWidestEdge - 0.5) * share));
}

Drawing start(const Schedule& schedule, const char* shape) {
  Drawing drawing("refit");
  drawing.set_default(AGRAPH, "label", "");
  drawing.set_default(AGNODE, "shape", shape);
  drawing.set_default(AGNODE, "style", "filled");
  drawing.set_default(AGNODE, "fillcolor", kNeitherColour);
  drawing.set_default(AGEDGE, "fontsize", "10");
  drawing.set(drawing.root(), "label", schedule.strategy);
  drawing.set(drawing.root(), "rankdir", "LR");
  return drawing;
}

// The domains that hold ranks of the refit, in order.
std::vector<DomainId> domains_of(const Refit& refit, const Cluster& cluster) {
  std::set<DomainId> domains;
  for (int rank = 0; rank < refit.ranks; ++rank) domains.insert(cluster.domain(Rank{rank}));
  return {domains.begin(), domains.end()};
}

std::string domain_label(DomainId domain, const Side& side, std::size_t gpus) {
  return fmt::format("domain {}: {}, {} GPU{}", domain.value, side.words(), gpus,
                     gpus == 1 ? "" : "s");
}

std::vector<Agnode_t*> draw_ranks(Drawing& drawing, const Refit& refit, const Cluster& cluster) {
  const Sides sides(refit);
  std::vector<Agnode_t*> nodes(static_cast<std::size_t>(refit.ranks), nullptr);
  for (const DomainId domain : domains_of(refit, cluster)) {
    const std::span<const Rank> ranks = cluster.domain_ranks(domain);
    const Side side = sides.of(ranks);
    // The name's prefix makes `dot` draw a box.
    Agraph_t* box = drawing.box(fmt::format("cluster_domain_{}", domain.value));
    drawing.set(box, "label", domain_label(domain, side, ranks.size()));
    drawing.set(box, "style", "filled");
    drawing.set(box, "color", side.colour());
    for (const Rank rank : ranks) {
      if (!sides.knows(rank)) continue;
      Agnode_t* node = drawing.node(box, fmt::format("rank {}", rank.value));
      drawing.set(node, "label", fmt::format("{}", rank.value));
      drawing.set(node, "fillcolor", sides.of(rank).colour());
      nodes[rank.index()] = node;
    }
  }
  return nodes;
}

void draw_transfers(Drawing& drawing, const Schedule& schedule,
                    const std::vector<Agnode_t*>& nodes) {
  std::map<std::pair<Rank, Rank>, double> bytes;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer) bytes[{op.src, op.dst}] += static_cast<double>(op.bytes);
  }
  double largest = 0;
  for (const auto& [pair, sum] : bytes) largest = std::max(largest, sum);
  for (const auto& [pair, sum] : bytes) {
    draw_edge(drawing, nodes[pair.first.index()], nodes[pair.second.index()], sum, largest);
  }
}

// One node per kind and group. Edges without arrows join an all-gather with its ranks; a broadcast
// has arrows from its roots, with their bytes, and to its ranks.
void draw_collectives(Drawing& drawing, const Schedule& schedule,
                      const std::vector<Agnode_t*>& nodes) {
  struct Sum {
    double bytes = 0;
    std::map<Rank, double> by_root;
  };
  std::map<std::pair<OpKind, GroupId>, Sum> sums;
  double largest = 0;
  for (const Op& op : schedule.ops) {
    if (op.kind != OpKind::all_gather && op.kind != OpKind::broadcast) continue;
    Sum& sum = sums[{op.kind, op.group}];
    sum.bytes += static_cast<double>(op.bytes);
    if (op.kind == OpKind::broadcast) {
      double& root = sum.by_root[op.src];
      root += static_cast<double>(op.bytes);
      largest = std::max(largest, root);
    }
  }
  for (const auto& [key, sum] : sums) {
    const auto& [kind, group_id] = key;
    const Group& group = schedule.groups[group_id.index()];
    Agnode_t* node =
        drawing.node(drawing.root(), fmt::format("{} {}", to_string(kind), group_id.value));
    drawing.set(node, "label",
                fmt::format("{}\n{} ranks, {}", to_string(kind), group.ranks.size(),
                            format_bytes(sum.bytes)));
    drawing.set(node, "shape", "box");
    for (const auto& [root, bytes] : sum.by_root) {
      draw_edge(drawing, nodes[root.index()], node, bytes, largest);
    }
    for (const Rank rank : group.ranks) {
      if (sum.by_root.contains(rank)) continue;
      const bool gather = kind == OpKind::all_gather;
      Agedge_t* edge = gather ? drawing.edge(nodes[rank.index()], node)
                              : drawing.edge(node, nodes[rank.index()]);
      drawing.set(edge, "style", "dashed");
      if (gather) drawing.set(edge, "dir", "none");
    }
  }
}

}  // namespace

GraphLevel default_graph_level(const Refit& refit) {
  return refit.ranks <= kMostRanksDrawn ? GraphLevel::ranks : GraphLevel::domains;
}

std::string rank_graph(const Schedule& schedule, const Refit& refit, const Cluster& cluster) {
  REFIT_CHECK(schedule.ranks <= refit.ranks && refit.ranks <= cluster.ranks());
  Drawing drawing = start(schedule, "circle");
  const std::vector<Agnode_t*> nodes = draw_ranks(drawing, refit, cluster);
  draw_transfers(drawing, schedule, nodes);
  draw_collectives(drawing, schedule, nodes);
  return drawing.text();
}

std::string domain_graph(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         const std::vector<double>& domain_bytes) {
  const auto count = static_cast<std::size_t>(cluster.domains());
  REFIT_CHECK(domain_bytes.size() == count * count);
  const Sides sides(refit);
  Drawing drawing = start(schedule, "box");
  std::vector<Agnode_t*> nodes(count, nullptr);
  for (const DomainId domain : domains_of(refit, cluster)) {
    const std::span<const Rank> ranks = cluster.domain_ranks(domain);
    const Side side = sides.of(ranks);
    Agnode_t* node = drawing.node(drawing.root(), fmt::format("domain {}", domain.value));
    const double inside = domain_bytes[domain.index() * count + domain.index()];
    drawing.set(node, "label",
                domain_label(domain, side, ranks.size()) +
                    (inside > 0 ? fmt::format("\n{} inside", format_bytes(inside)) : ""));
    drawing.set(node, "fillcolor", side.colour());
    nodes[domain.index()] = node;
  }
  double largest = 0;
  for (std::size_t i = 0; i < domain_bytes.size(); ++i) {
    if (i / count != i % count) largest = std::max(largest, domain_bytes[i]);
  }
  for (std::size_t i = 0; i < domain_bytes.size(); ++i) {
    if (i / count == i % count || domain_bytes[i] <= 0) continue;
    REFIT_CHECK(nodes[i / count] != nullptr && nodes[i % count] != nullptr);
    draw_edge(drawing, nodes[i / count], nodes[i % count], domain_bytes[i], largest);
  }
  return drawing.text();
}

}  // namespace refit
