#include "sim/detail/classes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/detail/key_numbers.h"

namespace refit::detail {
namespace {

// Each sweep carries colours along whole chains of tasks; more are needed only to carry them from
// link to link. Graphs that still split after so many are chains of links, and give little.
constexpr int kMostSweeps = 24;
// Of flows and the links that they cross; with more left, looking takes longer than it saves
// (bench/reductions_bench.cc).
constexpr double kMostLeft = 0.25;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

// Sets and multisets are hashed as sums, which know no order.
class Refinement {
 public:
  Refinement(const TaskGraph& graph, const GraphIndex& index) : graph_(graph), index_(index) {
    weight_key_.reserve(graph.paths.links.size());
    for (const PathLink& crossed : graph.paths.links) {
      weight_key_.push_back(mixed(bits(crossed.weight)) | 1);
    }
    classes_.of_task.resize(graph.tasks());
    classes_.of_path.resize(graph.paths.size());
    colour_by_capacity();
    std::size_t all = 0;
    for (PathId p = 0; p < graph.paths.size(); ++p) {
      all += (1 + graph.paths.of(p).size()) * index.flows_of_path.of(p).size();
    }
    most_ = static_cast<std::size_t>(kMostLeft * static_cast<double>(all));
  }

  std::optional<Classes> run() {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      const std::uint32_t tasks = classes_.tasks;
      const std::uint32_t links = classes_.links;
      colour_paths();
      if (!colour_tasks()) return {};
      if (sweep > 0 && classes_.tasks == tasks) {  // the links already saw these colours
        number_by_first_member();
        return std::move(classes_);
      }
      colour_links();
      if (classes_.links == links) {  // the tasks already saw these colours
        number_by_first_member();
        return std::move(classes_);
      }
    }
    return {};
  }

 private:
  void colour_by_capacity() {
    const auto& capacities = graph_.paths.capacity_bytes_per_s;
    link_key_.reserve(capacities.size());
    for (const double capacity : capacities) link_key_.push_back(mixed(bits(capacity)));
    for (const LinkChange& change : graph_.changes) {
      std::uint64_t& key = link_key_[change.link.index()];
      key = mixed(mixed(key + bits(change.at_s)) + bits(change.capacity_bytes_per_s));
    }
    number_links(link_key_);
  }

  void number_links(const std::vector<std::uint64_t>& keys) {
    KeyNumbers numbers;
    classes_.of_link.assign(keys.size(), kNoOwner);
    for (std::size_t l = 0; l < keys.size(); ++l) {
      if (!index_.crossings_of_link.of(l).empty()) classes_.of_link[l] = numbers.of(mixed(keys[l]));
    }
    classes_.links = numbers.size();
  }

  // By the classes of their links; and counts how many each path has.
  void colour_paths() {
    KeyNumbers numbers;
    links_in_path_.clear();
    std::vector<PathId> seen(classes_.links, 0);  // by link class: path 0 has no links
    for (PathId p = 0; p < graph_.paths.size(); ++p) {
      std::uint64_t key = 0;
      std::uint32_t distinct = 0;
      const bool used = !index_.flows_of_path.of(p).empty();
      for (std::uint32_t c = graph_.paths.begin[p]; used && c < graph_.paths.begin[p + 1]; ++c) {
        const std::uint32_t link = classes_.of_link[graph_.paths.links[c].link.index()];
        key += mixed(link) * weight_key_[c];
        if (seen[link] != p) ++distinct;
        seen[link] = p;
      }
      classes_.of_path[p] = numbers.of(mixed(key));
      if (classes_.of_path[p] == links_in_path_.size()) links_in_path_.push_back(distinct);
    }
    classes_.paths = numbers.size();
  }

  // False as soon as too much is left with one flow per class, and one link per class.
  bool colour_tasks() {
    KeyNumbers numbers;
    std::vector<TaskId> seen;  // by class: the last task that waits for it
    std::size_t left = 0;
    for (const TaskId t : index_.order) {
      const bool moves = graph_.moves_bytes(t);
      std::uint64_t key = mixed(bits(graph_.delay_s[t]));
      if (moves) key += mixed(bits(graph_.bytes[t]) + mixed(classes_.of_path[graph_.path[t]]));
      for (const TaskId before : index_.predecessors.of(t)) {
        const std::uint32_t its_class = classes_.of_task[before];
        if (seen[its_class] == t) continue;
        seen[its_class] = t;
        key += mixed(~std::uint64_t{its_class});
      }
      const std::uint32_t its_class = numbers.of(mixed(key));
      classes_.of_task[t] = its_class;
      if (its_class < seen.size()) continue;
      seen.push_back(kNoOwner);
      if (moves) left += 1 + links_in_path_[classes_.of_path[graph_.path[t]]];
      if (left > most_) return false;
    }
    classes_.tasks = numbers.size();
    return true;
  }

  void colour_links() {
    std::vector<std::uint64_t> keys = link_key_;
    for (PathId p = 0; p < graph_.paths.size(); ++p) {
      std::uint64_t flows = 0;
      for (const TaskId t : index_.flows_of_path.of(p)) flows += mixed(classes_.of_task[t]);
      if (flows == 0) continue;
      for (std::uint32_t c = graph_.paths.begin[p]; c < graph_.paths.begin[p + 1]; ++c) {
        keys[graph_.paths.links[c].link.index()] += flows * weight_key_[c];
      }
    }
    number_links(keys);
  }

  // So that what is first among the tasks is first among their classes, and ties break alike.
  void number_by_first_member() {
    std::vector<std::uint32_t> number(classes_.tasks, kNoOwner);
    std::uint32_t next = 0;
    for (std::uint32_t& its_class : classes_.of_task) {
      if (number[its_class] == kNoOwner) number[its_class] = next++;
      its_class = number[its_class];
    }
  }

  const TaskGraph& graph_;
  const GraphIndex& index_;
  std::vector<std::uint64_t> weight_key_;     // by crossing
  std::vector<std::uint64_t> link_key_;       // of capacity and changes
  std::vector<std::uint32_t> links_in_path_;  // by path class: its classes of links
  std::size_t most_ = 0;                      // flows, and links that they cross, that may be left
  Classes classes_;
};

}  // namespace

std::optional<Classes> find_classes(const TaskGraph& graph, const GraphIndex& index) {
  return Refinement(graph, index).run();
}

std::vector<Crossing> crossings(const TaskGraph& graph, const GraphIndex& index,
                                const Classes& classes, std::size_t link) {
  std::vector<Crossing> list;
  for (const std::uint32_t c : index.crossings_of_link.of(link)) {
    for (const TaskId t : index.flows_of_path.of(index.path_of_crossing[c])) {
      list.push_back({classes.of_task[t], graph.paths.links[c].weight});
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

std::vector<std::uint32_t> first_members(const std::vector<std::uint32_t>& class_of,
                                         std::uint32_t classes) {
  std::vector<std::uint32_t> first(classes, kNoOwner);
  for (std::uint32_t i = 0; i < class_of.size(); ++i) {
    if (class_of[i] != kNoOwner && first[class_of[i]] == kNoOwner) first[class_of[i]] = i;
  }
  return first;
}

}  // namespace refit::detail
