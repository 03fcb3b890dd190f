#include "sim/detail/refinement.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace refit::detail {
namespace {

using Colour = Refinement::Colour;

// Links that have to go for the work to pay.
constexpr double kLeastGain = 0.1;
// Differences that need longer to be seen, link by link, are taken for a graph without symmetry.
constexpr int kMostSweeps = 24;

// The finaliser of SplitMix64: every bit of the input moves half of those of the output.
Colour mix(Colour x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

Colour both(Colour a, Colour b) { return mix(mix(a) ^ b); }
Colour of(double value) { return std::bit_cast<Colour>(value); }

// Every task behind all that it waits for. A junction's number is larger than those of the ops
// behind it, so numbers are no such order.
std::vector<TaskId> topological_order(const TaskGraph& graph) {
  std::vector<std::uint32_t> waits_for = graph.in_degree;
  std::vector<TaskId> order;
  order.reserve(graph.tasks());
  for (TaskId task = 0; task < graph.tasks(); ++task)
    if (waits_for[task] == 0) order.push_back(task);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const TaskId next : graph.successors_of(order[i]))
      if (--waits_for[next] == 0) order.push_back(next);
  REFIT_CHECK(order.size() == graph.tasks());  // no cycle: verify has seen it
  return order;
}

}  // namespace

Refinement::Refinement(const TaskGraph& graph)
    : graph_(graph),
      order_(topological_order(graph)),
      tasks_(graph.tasks()),
      links_(graph.paths.capacity_bytes_per_s.size()),
      paths_(graph.paths.size()),
      loads_(links_.size()),
      before_(graph.tasks()),
      used_(used_links(graph)),
      used_links_(static_cast<std::size_t>(std::count(used_.begin(), used_.end(), true))) {
  for (std::size_t l = 0; l < links_.size(); ++l)
    links_[l] = of(graph.paths.capacity_bytes_per_s[l]);
  for (const LinkChange& change : graph.changes) {
    Colour& link = links_[change.link.index()];
    link = both(both(link, of(change.at_s)), of(change.capacity_bytes_per_s));
  }
}

bool Refinement::run() {
  const auto most = static_cast<std::size_t>((1 - kLeastGain) * static_cast<double>(used_links_));
  std::size_t classes = 0;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    sweep_tasks();
    sweep_links();
    const std::size_t now = count_link_classes();
    if (now > most) return false;
    if (now == classes) {
      sweep_tasks();  // by the last colours of the links
      return true;
    }
    classes = now;
  }
  return false;
}

// Sums of mixed colours stand for multisets: they do not depend on the order. Colours run along
// whole chains in one sweep.
void Refinement::sweep_tasks() {
  for (PathId p = 0; p < paths_.size(); ++p) {
    paths_[p] = 0;
    for (const PathLink& crossed : graph_.paths.of(p))
      paths_[p] += both(links_[crossed.link.index()], of(crossed.weight));
  }
  std::fill(before_.begin(), before_.end(), 0);
  for (const TaskId task : order_) {
    const Colour path = graph_.moves_bytes(task) ? paths_[graph_.path[task]] : 0;
    tasks_[task] =
        both(both(both(of(graph_.bytes[task]), of(graph_.delay_s[task])), path), before_[task]);
    const Colour seen = mix(tasks_[task]);
    for (const TaskId next : graph_.successors_of(task)) before_[next] += seen;
  }
}

void Refinement::sweep_links() {
  std::fill(loads_.begin(), loads_.end(), 0);
  for (TaskId task = 0; task < graph_.tasks(); ++task) {
    if (!graph_.moves_bytes(task)) continue;
    for (const PathLink& crossed : graph_.paths.of(graph_.path[task]))
      loads_[crossed.link.index()] += both(tasks_[task], of(crossed.weight));
  }
  for (std::size_t l = 0; l < links_.size(); ++l) links_[l] = both(links_[l], loads_[l]);
}

std::size_t Refinement::count_link_classes() {
  sorted_.clear();
  for (std::size_t l = 0; l < links_.size(); ++l)
    if (used_[l]) sorted_.push_back(links_[l]);
  std::sort(sorted_.begin(), sorted_.end());
  return static_cast<std::size_t>(std::unique(sorted_.begin(), sorted_.end()) - sorted_.begin());
}

}  // namespace refit::detail
