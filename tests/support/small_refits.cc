#include "tests/support/small_refits.h"

#include <algorithm>

namespace refit::test {
namespace {

// All ways to write n as an ordered product of factors >= 2 (or just {1}).
void factorise(int n, std::vector<int> so_far, std::vector<std::vector<int>>& all) {
  if (n == 1) {
    all.push_back(so_far.empty() ? std::vector<int>{1} : so_far);
    return;
  }
  for (int f = 2; f <= n; ++f) {
    if (n % f != 0) continue;
    std::vector<int> longer = so_far;
    longer.push_back(f);
    factorise(n / f, longer, all);
  }
}

}  // namespace

std::vector<Layout> all_layouts(const std::vector<std::int64_t>& shape, int first, int ranks) {
  std::vector<std::int64_t> with_members{1};
  with_members.insert(with_members.end(), shape.begin(), shape.end());
  std::vector<std::vector<int>> meshes;
  factorise(ranks, {}, meshes);
  const int choices = static_cast<int>(shape.size()) + 1;  // replicate, or shard one of the dims
  std::vector<Layout> layouts;
  for (const std::vector<int>& sizes : meshes) {
    std::vector<std::pair<std::string, int>> axes;
    int placements = 1;
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      axes.emplace_back(std::string(1, static_cast<char>('a' + a)), sizes[a]);
      placements *= choices;
    }
    const Mesh mesh = Mesh::row_major(Rank(first), axes);
    for (int code = 0; code < placements; ++code) {
      std::vector<Placement> by_axis;
      for (int left = code, a = 0; a < static_cast<int>(sizes.size()); ++a, left /= choices) {
        by_axis.push_back(left % choices == 0 ? replicate() : shard(left % choices));
      }
      layouts.emplace_back(with_members, mesh, by_axis);
    }
  }
  return layouts;
}

Refit refit_of(const Layout& source, const Layout& destination, int ranks) {
  Refit refit;
  refit.ranks = ranks;
  refit.stages = 1;
  refit.sources = source.mesh().ranks();
  refit.destinations = destination.mesh().ranks();
  std::sort(refit.sources.begin(), refit.sources.end());
  std::sort(refit.destinations.begin(), refit.destinations.end());
  refit.classes.push_back(
      {"w", Dtype::u8, Role::unspecified, false, 0, {0}, source, destination, 1, ""});
  return refit;
}

}  // namespace refit::test
