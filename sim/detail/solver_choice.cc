#include "sim/detail/solver_choice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "sim/detail/solver.h"

namespace refit::detail {
namespace {

// At most some 15 ms with SimGrid's solver, even if all are under way at once.
constexpr std::size_t kMostTransfers = 500;
// So are these, each counted as often as it weighs: a collective crosses thousands of links.
constexpr std::size_t kMostCrossings = 10'000;

// How many links SimGrid sees on the path, where a link of weight k stands k times; nothing where
// it would have to stand there a broken number of times, or too often.
std::optional<std::size_t> native_length(std::span<const PathLink> path) {
  if (path.empty()) return 0;
  const double unit = std::ranges::min(path, {}, &PathLink::weight).weight;
  std::size_t length = 0;
  for (const PathLink& crossed : path) {
    const std::optional<std::size_t> repeats = native_repeats(crossed.weight, unit);
    if (!repeats) return {};
    length += *repeats;
  }
  return length;
}

std::string count(std::size_t value) { return format_count(static_cast<std::int64_t>(value)); }

}  // namespace

SolverChoice choose_solver(const TaskGraph& graph) {
  std::vector<std::size_t> flows(graph.paths.size(), 0);
  std::size_t transfers = 0;
  for (TaskId task = 0; task < graph.tasks(); ++task) {
    if (!graph.moves_bytes(task)) continue;
    ++flows[graph.path[task]];
    ++transfers;
  }
  if (transfers > kMostTransfers) {
    return {Solver::incremental,
            fmt::format("{} transfers, more than {}", count(transfers), count(kMostTransfers))};
  }
  std::size_t crossings = 0;
  for (PathId path = 0; path < graph.paths.size(); ++path) {
    if (flows[path] == 0) continue;
    const std::optional<std::size_t> length = native_length(graph.paths.of(path));
    if (!length)
      return {Solver::incremental, "weights on one path that are no small multiples of each other"};
    crossings += flows[path] * *length;
  }
  if (crossings > kMostCrossings) {
    return {Solver::incremental,
            fmt::format("{} links crossed, more than {}", count(crossings), count(kMostCrossings))};
  }
  return {Solver::native,
          fmt::format("{} transfer{}", count(transfers), transfers == 1 ? "" : "s")};
}

}  // namespace refit::detail
