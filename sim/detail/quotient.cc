#include "sim/detail/quotient.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace refit::detail {
namespace {

// What each task class weighs on each link class, and the capacities that go with it.
struct Weights {
  std::vector<double> scale;  // by link class: capacity and weights are divided by it
  std::vector<std::vector<PathLink>> of_task;  // by task class
};

Weights weigh(const TaskGraph& graph, const GraphIndex& index, const Classes& classes) {
  Weights weights{{}, std::vector<std::vector<PathLink>>(classes.tasks)};
  weights.scale.reserve(classes.links);
  for (const std::uint32_t link : first_members(classes.of_link, classes.links)) {
    std::vector<Crossing> sums;  // one per task class
    for (const Crossing& flow : crossings(graph, index, classes, link)) {
      if (!sums.empty() && sums.back().task_class == flow.task_class) {
        sums.back().weight += flow.weight;
      } else {
        sums.push_back(flow);
      }
    }
    const double least = std::min_element(sums.begin(), sums.end(), [](auto& a, auto& b) {
                           return a.weight < b.weight;
                         })->weight;
    const LinkId its_class{static_cast<std::int64_t>(weights.scale.size())};
    weights.scale.push_back(least);
    for (const Crossing& sum : sums) {
      weights.of_task[sum.task_class].push_back({its_class, sum.weight / least});
    }
  }
  return weights;
}

// Gives equal paths one number.
class PathNumbers {
 public:
  explicit PathNumbers(LinkPaths& paths) : paths_(paths), known_(Less{paths}) { known_.insert(0); }

  PathId of(const std::vector<PathLink>& links) {
    const PathId added = paths_.add(links);
    const auto [found, first] = known_.insert(added);
    if (!first) {
      paths_.links.resize(paths_.begin[added]);
      paths_.begin.pop_back();
    }
    return *found;
  }

 private:
  struct Less {
    const LinkPaths& paths;
    bool operator()(PathId a, PathId b) const {
      const auto key = [](const PathLink& link) { return std::pair(link.link, link.weight); };
      const auto x = paths.of(a), y = paths.of(b);
      return std::lexicographical_compare(
          x.begin(), x.end(), y.begin(), y.end(),
          [&](const PathLink& l, const PathLink& r) { return key(l) < key(r); });
    }
  };

  LinkPaths& paths_;
  std::set<PathId, Less> known_;
};

// A class waits for the classes that its first member waits for.
std::vector<Edge> edges_between(const GraphIndex& index, const Classes& classes,
                                const std::vector<std::uint32_t>& first) {
  std::vector<Edge> edges;
  std::vector<std::uint32_t> seen(classes.tasks, kNoOwner);
  for (std::uint32_t c = 0; c < classes.tasks; ++c) {
    for (const TaskId before : index.predecessors.of(first[c])) {
      const std::uint32_t its_class = classes.of_task[before];
      if (seen[its_class] == c) continue;
      seen[its_class] = c;
      edges.push_back({its_class, c});
    }
  }
  return edges;
}

}  // namespace

std::optional<Quotient> make_quotient(const TaskGraph& graph) {
  const GraphIndex index = make_graph_index(graph);
  std::optional<Classes> classes = find_classes(graph, index);
  if (!classes || !equitable(graph, index, *classes)) return {};
  return quotient_by(graph, index, std::move(*classes));
}

Quotient quotient_by(const TaskGraph& graph, const GraphIndex& index, Classes classes) {
  const Weights weights = weigh(graph, index, classes);
  const std::vector<std::uint32_t> links = first_members(classes.of_link, classes.links);
  const std::vector<std::uint32_t> tasks = first_members(classes.of_task, classes.tasks);
  Quotient quotient;
  quotient.links = links.size();
  TaskGraph& small = quotient.graph;
  small.ops = classes.tasks;
  for (std::size_t c = 0; c < links.size(); ++c) {
    small.paths.capacity_bytes_per_s.push_back(graph.paths.capacity_bytes_per_s[links[c]] /
                                               weights.scale[c]);
  }
  for (LinkChange change : graph.changes) {
    const std::uint32_t its_class = classes.of_link[change.link.index()];
    if (its_class == kNoOwner || links[its_class] != change.link.index()) continue;
    change.link = LinkId{its_class};
    change.capacity_bytes_per_s /= weights.scale[its_class];
    small.changes.push_back(change);
  }
  PathNumbers paths(small.paths);
  for (std::size_t c = 0; c < tasks.size(); ++c) {
    small.delay_s.push_back(graph.delay_s[tasks[c]]);
    small.bytes.push_back(graph.moves_bytes(tasks[c]) ? graph.bytes[tasks[c]] : 0);
    small.path.push_back(paths.of(weights.of_task[c]));
  }
  set_edges(edges_between(index, classes, tasks), small);
  quotient.class_of = std::move(classes.of_task);
  return quotient;
}

Timeline expand(const Quotient& quotient, const Timeline& classes) {
  Timeline all;
  all.reserve(quotient.class_of.size());
  for (const std::uint32_t its_class : quotient.class_of) all.push_back(classes[its_class]);
  return all;
}

}  // namespace refit::detail
