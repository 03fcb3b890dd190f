#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/detail/classes.h"
#include "sim/detail/key_numbers.h"

namespace refit::detail {
namespace {

using ClassList = std::vector<std::pair<std::uint32_t, double>>;

// The path in terms of classes.
void list_path(const TaskGraph& graph, const Classes& classes, PathId path, ClassList& list) {
  list.clear();
  for (const PathLink& crossed : graph.paths.of(path)) {
    list.emplace_back(classes.of_link[crossed.link.index()], crossed.weight);
  }
  std::sort(list.begin(), list.end());
}

bool paths_are_alike(const TaskGraph& graph, const GraphIndex& index, const Classes& classes) {
  const Lists members = lists_by_owner(classes.of_path, classes.paths);
  ClassList first, other;
  for (std::size_t c = 0; c < members.size(); ++c) {
    bool seen = false;
    for (const PathId p : members.of(c)) {
      if (index.flows_of_path.of(p).empty()) continue;
      list_path(graph, classes, p, seen ? other : first);
      if (seen && other != first) return false;
      seen = true;
    }
  }
  return true;
}

bool tasks_are_alike(const TaskGraph& graph, const GraphIndex& index, const Classes& classes) {
  const Lists members = lists_by_owner(classes.of_task, classes.tasks);
  std::vector<TaskId> of_first(classes.tasks, kNoOwner);  // whose first member waits for the class
  std::vector<TaskId> seen(classes.tasks, kNoOwner);
  const auto waits_for = [&](TaskId t, auto&& each) {
    std::size_t distinct = 0;
    for (const TaskId before : index.predecessors.of(t)) {
      const std::uint32_t its_class = classes.of_task[before];
      if (seen[its_class] == t) continue;
      seen[its_class] = t;
      ++distinct;
      each(its_class);
    }
    return distinct;
  };
  for (std::uint32_t c = 0; c < classes.tasks; ++c) {
    const TaskId first = members.of(c).front();
    const bool moves = graph.moves_bytes(first);
    const std::size_t waits = waits_for(first, [&](std::uint32_t before) { of_first[before] = c; });
    for (const TaskId t : members.of(c).subspan(1)) {
      if (graph.delay_s[t] != graph.delay_s[first] || graph.moves_bytes(t) != moves) return false;
      if (moves && (graph.bytes[t] != graph.bytes[first] ||
                    classes.of_path[graph.path[t]] != classes.of_path[graph.path[first]])) {
        return false;
      }
      bool same = true;
      const std::size_t others =
          waits_for(t, [&](std::uint32_t before) { same = same && of_first[before] == c; });
      if (!same || others != waits) return false;
    }
  }
  return true;
}

// Paths with the same number carry as many flows of each class. A collective's path has thousands
// of links and hundreds of flows: to look at each flow on each link would take longer than all the
// rest.
class FlowsOfPaths {
 public:
  FlowsOfPaths(const GraphIndex& index, const Classes& classes) : lists_(index.flows_of_path) {
    for (std::uint32_t& flow : lists_.items) flow = classes.of_task[flow];
    KeyNumbers numbers;
    std::vector<PathId> first;  // by number
    for (PathId p = 0; p < lists_.size(); ++p) {
      const auto begin = lists_.items.begin();
      std::sort(begin + lists_.begin[p], begin + lists_.begin[p + 1]);
      std::uint64_t key = 0;
      for (const std::uint32_t its_class : lists_.of(p)) key = mixed(key + its_class);
      number_.push_back(numbers.of(mixed(key)));
      if (number_.back() == first.size()) first.push_back(p);
      exact_ = exact_ && std::ranges::equal(lists_.of(p), lists_.of(first[number_.back()]));
    }
  }

  bool exact() const { return exact_; }  // no two lists have got one number
  std::uint32_t number(PathId path) const { return number_[path]; }

 private:
  Lists lists_;
  std::vector<std::uint32_t> number_;
  bool exact_ = true;
};

bool links_are_alike(const TaskGraph& graph, const GraphIndex& index, const Classes& classes) {
  const auto& capacity = graph.paths.capacity_bytes_per_s;
  std::vector<std::vector<std::pair<double, double>>> changes;  // by link, if there are any
  if (!graph.changes.empty()) changes.resize(capacity.size());
  for (const LinkChange& change : graph.changes) {
    changes[change.link.index()].emplace_back(change.at_s, change.capacity_bytes_per_s);
  }
  const FlowsOfPaths flows(index, classes);
  if (!flows.exact()) return false;
  const auto list_flows = [&](std::uint32_t link, ClassList& list) {
    list.clear();
    for (const std::uint32_t c : index.crossings_of_link.of(link)) {
      list.emplace_back(flows.number(index.path_of_crossing[c]), graph.paths.links[c].weight);
    }
    std::sort(list.begin(), list.end());
  };
  const Lists members = lists_by_owner(classes.of_link, classes.links);
  ClassList of_first, of_other;
  for (std::size_t c = 0; c < members.size(); ++c) {
    const std::uint32_t first = members.of(c).front();
    list_flows(first, of_first);
    std::vector<Crossing> each_of_first;
    for (const std::uint32_t l : members.of(c).subspan(1)) {
      if (capacity[l] != capacity[first]) return false;
      if (!changes.empty() && changes[l] != changes[first]) return false;
      list_flows(l, of_other);
      if (of_other == of_first) continue;
      // The same flows may come by other paths.
      if (each_of_first.empty()) each_of_first = crossings(graph, index, classes, first);
      if (crossings(graph, index, classes, l) != each_of_first) return false;
    }
  }
  return true;
}

}  // namespace

bool equitable(const TaskGraph& graph, const GraphIndex& index, const Classes& classes) {
  return paths_are_alike(graph, index, classes) && tasks_are_alike(graph, index, classes) &&
         links_are_alike(graph, index, classes);
}

}  // namespace refit::detail
