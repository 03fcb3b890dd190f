#include "tests/support/random_refit.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace refit::test {
namespace {

// Ranks of one stage: replicas x a x b, a and b cut a dim each (perhaps the same one).
struct Grid {
  int replicas = 1, a = 1, b = 1;
  int dim_a = 1, dim_b = 2;
  bool balanced = false;
  int ranks() const { return replicas * a * b; }
};

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}

  // std::uniform_int_distribution differs between libraries; this does not.
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  int from(int least, int most) { return least + below(most - least + 1); }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

  Grid grid() {
    Grid grid;
    grid.replicas = one_of({1, 1, 2, 3, 4, 8});
    grid.a = one_of({1, 2, 3, 4, 8});
    grid.b = one_of({1, 1, 2, 4, 6});
    grid.dim_a = from(1, 2);
    grid.dim_b = below(4) == 0 ? grid.dim_a : 3 - grid.dim_a;
    grid.balanced = below(2) == 0;
    return grid;
  }

 private:
  std::mt19937 random_;
};

Layout layout(const Grid& grid, int first, const std::vector<std::int64_t>& shape) {
  const Split split = grid.balanced ? Split::balanced() : Split::chunk();
  return Layout(
      shape, Mesh::row_major(Rank(first), {{"rep", grid.replicas}, {"a", grid.a}, {"b", grid.b}}),
      {replicate(), shard(grid.dim_a, split), shard(grid.dim_b, split)});
}

NodeGroupSpec domain(int gpus, double nic_bytes_per_s, double nvlink_bytes_per_s) {
  NodeGroupSpec group;
  group.name = "node";
  group.nodes = 1;
  group.gpus_per_node = gpus;
  group.nvlink_domain_gpus = gpus;
  group.nvlink_bytes_per_s = nvlink_bytes_per_s;
  group.nics_per_node = gpus;
  group.nic_bytes_per_s = nic_bytes_per_s;
  return group;
}

// Each side lives in domains of its own, but for what both have in common.
ClusterSpec cluster_spec(Draw& draw, const std::vector<int>& parts, bool mixed, int nodes_per_leaf,
                         double oversubscription) {
  ClusterSpec spec;
  spec.sites = {"here"};
  spec.fabrics.resize(1);
  spec.fabrics[0].nodes_per_leaf = nodes_per_leaf;
  spec.fabrics[0].oversubscription = oversubscription;
  const int usual = draw.one_of({4, 8, 16});
  const bool uneven = draw.below(3) != 0;
  for (int left : parts) {
    while (left > 0) {
      const int gpus = std::min(left, uneven ? draw.from(1, 16) : usual);
      const double nic = mixed ? draw.one_of({25e9, 50e9, 100e9}) : 50e9;
      spec.groups.push_back(domain(gpus, nic, draw.one_of({450e9, 900e9})));
      left -= gpus;
    }
  }
  return spec;
}

}  // namespace

RandomRefit random_refit(std::uint32_t seed) {
  Draw draw(seed);
  const Grid source = draw.grid(), destination = draw.grid();
  const int stages = draw.one_of({1, 1, 2, 4});
  const int sources = source.ranks() * stages, destinations = destination.ranks();
  // One in six: some ranks both train and generate.
  const int shared = draw.below(6) == 0 ? draw.from(1, std::min(sources, destinations)) : 0;
  const int first_destination = sources - shared;
  const bool mixed = draw.below(2) == 0;
  const bool trunks = draw.below(4) == 0;
  const int nodes_per_leaf = trunks ? draw.from(1, 3) : 0;
  const double oversubscription = trunks ? draw.one_of({2.0, 4.0}) : 1;

  Refit refit;
  refit.ranks = first_destination + destinations;
  refit.stages = stages;
  for (int r = 0; r < sources; ++r) refit.sources.push_back(Rank(r));
  for (int r = first_destination; r < refit.ranks; ++r) refit.destinations.push_back(Rank(r));
  const int tensors = draw.from(1, 4);
  for (int t = 0; t < tensors; ++t) {
    const int rows = draw.from(96, 2048), columns = draw.from(96, 2048);
    for (int s = 0; s < stages; ++s) {
      // So many members that each rank holds hundreds of MB: no plan is limited by small pieces.
      const std::int64_t members = draw.from(1, 3) * 40L * std::max(sources, destinations);
      const std::vector<std::int64_t> shape{members, rows, columns};
      TensorClass c{fmt::format("w{}.{}", t, s),
                    Dtype::bf16,
                    Role::unspecified,
                    false,
                    s,
                    {},
                    layout(source, s * source.ranks(), shape),
                    layout(destination, first_destination, shape),
                    1,
                    ""};
      c.members.resize(static_cast<std::size_t>(members));
      refit.classes.push_back(std::move(c));
    }
  }
  ClusterSpec spec = cluster_spec(draw, {first_destination, destinations}, mixed, nodes_per_leaf,
                                  oversubscription);
  std::string words = fmt::format(
      "{} stages of {} x {} x {} -> {} x {} x {}, {} domains, {} shared ranks{}{}", stages,
      source.replicas, source.a, source.b, destination.replicas, destination.a, destination.b,
      spec.groups.size(), shared, mixed ? ", mixed NICs" : "",
      trunks ? fmt::format(", leaves of {} with trunks 1:{:.0f}", nodes_per_leaf, oversubscription)
             : "");
  return {Cluster(std::move(spec)), std::move(refit), std::move(words)};
}

}  // namespace refit::test
