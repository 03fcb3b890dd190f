#include "sim/detail/solver_choice.h"

#include <fmt/format.h>

#include "base/units.h"

namespace refit::detail {
namespace {

// Some 10 ms with SimGrid's solver, even if all are under way at once.
constexpr std::size_t kMostTransfers = 500;

bool has_equal_weights(const LinkPaths& paths) {
  for (PathId path = 0; path < paths.size(); ++path) {
    const auto links = paths.of(path);
    for (const PathLink& crossed : links)
      if (crossed.weight != links.front().weight) return false;
  }
  return true;
}

}  // namespace

SolverChoice choose_solver(const TaskGraph& graph) {
  std::size_t transfers = 0;
  for (TaskId task = 0; task < graph.tasks(); ++task) transfers += graph.moves_bytes(task) ? 1 : 0;
  if (transfers > kMostTransfers) {
    return {Solver::incremental, fmt::format("{} transfers, more than {}", format_count(transfers),
                                             format_count(kMostTransfers))};
  }
  if (!has_equal_weights(graph.paths))
    return {Solver::incremental,
            "links of different weights on one path, which SimGrid does not have"};
  return {Solver::native,
          fmt::format("{} transfer{}", format_count(transfers), transfers == 1 ? "" : "s")};
}

}  // namespace refit::detail
