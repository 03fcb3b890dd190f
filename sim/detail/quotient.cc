#include "sim/detail/quotient.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "sim/detail/refinement.h"

namespace refit::detail {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Classes in the order of their first members, which represent them.
struct Classes {
  std::vector<std::uint32_t> of;     // by member; kNone: in no class
  std::vector<std::uint32_t> first;  // by class
};

template <class Counts>
Classes classes_of(const std::vector<Refinement::Colour>& colours, Counts counts) {
  Classes classes;
  classes.of.assign(colours.size(), kNone);
  std::unordered_map<Refinement::Colour, std::uint32_t> number;
  for (std::uint32_t i = 0; i < colours.size(); ++i) {
    if (!counts(i)) continue;
    const auto [found, fresh] =
        number.try_emplace(colours[i], static_cast<std::uint32_t>(classes.first.size()));
    if (fresh) classes.first.push_back(i);
    classes.of[i] = found->second;
  }
  return classes;
}

struct Load {  // of all tasks of one class on the link that represents another class
  std::uint32_t task = 0, link = 0;
  double weight = 0;
};

std::vector<Load> loads(const TaskGraph& graph, const Classes& tasks, const Classes& links) {
  std::vector<Load> found;
  for (TaskId task = 0; task < graph.tasks(); ++task) {
    if (!graph.moves_bytes(task)) continue;
    for (const PathLink& crossed : graph.paths.of(graph.path[task])) {
      const auto link = static_cast<std::uint32_t>(crossed.link.index());
      if (links.first[links.of[link]] == link)
        found.push_back({tasks.of[task], links.of[link], crossed.weight});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Load& a, const Load& b) {
    return std::pair(a.task, a.link) < std::pair(b.task, b.link);
  });
  std::vector<Load> sums;
  for (const Load& load : found) {
    if (sums.empty() || sums.back().task != load.task || sums.back().link != load.link) {
      sums.push_back(load);
    } else {
      sums.back().weight += load.weight;
    }
  }
  return sums;
}

// A class waits for the classes that its first member waits for.
std::vector<Edge> edges_between(const TaskGraph& graph, const Classes& tasks) {
  std::vector<Edge> edges;
  for (TaskId task = 0; task < graph.tasks(); ++task)
    for (const TaskId next : graph.successors_of(task))
      if (tasks.first[tasks.of[next]] == next) edges.push_back({tasks.of[task], tasks.of[next]});
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace

std::optional<Quotient> make_quotient(const TaskGraph& graph) {
  Refinement colours(graph);
  if (!colours.run()) return std::nullopt;
  Quotient quotient;
  Classes tasks = classes_of(colours.tasks(), [](std::uint32_t) { return true; });
  const Classes links =
      classes_of(colours.links(), [&](std::uint32_t link) { return colours.used(link); });
  quotient.links = links.first.size();

  TaskGraph& small = quotient.graph;
  small.ops = tasks.first.size();
  for (const std::uint32_t link : links.first)
    small.paths.capacity_bytes_per_s.push_back(graph.paths.capacity_bytes_per_s[link]);
  for (const LinkChange& change : graph.changes) {
    const std::uint32_t link = links.of[change.link.index()];
    if (link == kNone || links.first[link] != change.link.index()) continue;
    small.changes.push_back({change.at_s, LinkId{link}, change.capacity_bytes_per_s});
  }
  const std::vector<Load> weights = loads(graph, tasks, links);
  auto next = weights.begin();
  std::vector<PathLink> path;
  for (std::uint32_t c = 0; c < tasks.first.size(); ++c) {
    const TaskId first = tasks.first[c];
    path.clear();
    for (; next != weights.end() && next->task == c; ++next)
      path.push_back({LinkId{next->link}, next->weight});
    small.path.push_back(path.empty() ? 0 : small.paths.add(path));
    small.bytes.push_back(path.empty() ? 0 : graph.bytes[first]);
    small.delay_s.push_back(graph.delay_s[first]);
  }
  set_edges(edges_between(graph, tasks), small);
  quotient.class_of = std::move(tasks.of);
  return quotient;
}

Timeline expand(const Quotient& quotient, const Timeline& classes) {
  Timeline all(quotient.class_of.size());
  for (std::size_t task = 0; task < all.size(); ++task)
    all[task] = classes[quotient.class_of[task]];
  return all;
}

}  // namespace refit::detail
