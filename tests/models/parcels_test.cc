#include "models/parcels.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <catch2/catch.hpp>

#include "tests/models/row_cuts.h"
#include "tests/support/small_refits.h"

namespace refit::test {
namespace {

using Element = std::vector<std::int64_t>;

// The ranks whose shard holds an element, rank by rank from the definition.
class Holders {
 public:
  explicit Holders(const Layout& layout) : ranks_(layout.mesh().ranks()) {
    for (int i = 0; i < layout.mesh().size(); ++i) shards_.push_back(layout.shard(i));
  }

  std::vector<Rank> of(const Element& element) const {
    std::set<Rank> holders;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      bool holds = true;
      for (std::size_t d = 0; d < element.size(); ++d)
        holds = holds && shards_[i][d].contains(element[d]);
      if (holds) holders.insert(ranks_[i]);
    }
    return {holders.begin(), holders.end()};
  }

 private:
  std::vector<Rank> ranks_;
  std::vector<std::vector<IntervalSet>> shards_;
};

template <class Visit>
void for_each_element(const Region& box, const Visit& visit) {
  Element at;
  for (const Interval& side : box) at.push_back(side.begin);
  while (true) {
    visit(at);
    std::size_t d = box.size();
    while (d > 0 && ++at[d - 1] == box[d - 1].end) {
      at[d - 1] = box[d - 1].begin;
      --d;
    }
    if (d == 0) return;
  }
}

// The first thing that is wrong with the parcels of a small refit, or nothing.
std::string fault(const Refit& refit, const std::vector<Parcel>& parcels,
                  const std::function<int(const TensorClass&)>& group_of = {}) {
  std::set<std::tuple<int, int, std::vector<Rank>, std::vector<Rank>>> keys;
  std::map<std::pair<int, Element>, std::size_t> parcel_of;
  for (std::size_t p = 0; p < parcels.size(); ++p) {
    const Parcel& parcel = parcels[p];
    if (!keys.insert({parcel.stage, parcel.group, parcel.owners, parcel.demanders}).second)
      return "equal keys";
    if (parcel.owners.empty() || parcel.demanders.empty()) return "nobody owns or wants a parcel";
    if (parcel.chunks != 1) return "chunks";
    std::int64_t bytes = 0;
    for (const Fragment& fragment : parcel.fragments) {
      const TensorClass& c = refit.classes[fragment.tensor_class.index()];
      if (fragment.region.size() != c.shape().size()) return "dims";
      for (std::size_t d = 0; d < fragment.region.size(); ++d) {
        const Interval& side = fragment.region[d];
        if (side.begin < 0 || side.end > c.shape()[d] || side.size() < 1)
          return "a fragment outside its tensor";
      }
      if (c.stage != parcel.stage || (group_of ? group_of(c) : 0) != parcel.group)
        return "stage or group";
      bytes += bytes_of(refit, fragment);
      bool twice = false;
      for_each_element(fragment.region, [&](const Element& element) {
        twice = twice || !parcel_of.try_emplace({fragment.tensor_class.value, element}, p).second;
      });
      if (twice) return "an element is in two fragments";
    }
    if (bytes != parcel.bytes) return "bytes";
  }
  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    const Holders owners(refit.classes[c].source), demanders(refit.classes[c].destination);
    std::string wrong;
    Region whole;
    for (const std::int64_t side : refit.classes[c].shape()) whole.push_back({0, side});
    for_each_element(whole, [&](const Element& element) {
      const auto at = parcel_of.find({static_cast<int>(c), element});
      if (at == parcel_of.end()) {
        wrong = "an element is in no parcel";
      } else if (parcels[at->second].owners != owners.of(element)) {
        wrong = "owners";
      } else if (parcels[at->second].demanders != demanders.of(element)) {
        wrong = "demanders";
      }
    });
    if (!wrong.empty()) return wrong;
  }
  return "";
}

void require_chunks_sum(const Refit& refit, std::vector<Parcel> parcels, int chunks) {
  for (Parcel& parcel : parcels) {
    parcel.chunks = chunks;
    std::int64_t sum = 0;
    const std::vector<std::int64_t> sums = chunk_wire_sums(refit, parcel);
    REQUIRE(sums.size() == static_cast<std::size_t>(chunks) + 1);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      REQUIRE(sums[static_cast<std::size_t>(chunk)] == sum);
      sum += chunk_bytes(refit, parcel, chunk);
    }
    REQUIRE(sums.back() == sum);
    REQUIRE(sum == parcel.bytes);
  }
}

TensorClass tensor_class(Layout source, Layout destination, Dtype dtype = Dtype::u8,
                         int stage = 0) {
  return {"w",   dtype, Role::unspecified, false,
          stage, {0},   std::move(source), std::move(destination),
          1,     ""};
}

Layout random_layout(RandomCuts& random, const std::vector<std::int64_t>& shape) {
  std::vector<MeshAxis> axes;
  std::vector<Placement> placements;
  std::vector<bool> cut(shape.size(), false);
  int size = 1;
  const int count = random.pick(1, 3);
  for (int a = 0; a < count; ++a) {
    const int n = random.pick(1, 4);
    size *= n;
    axes.push_back({std::string(1, static_cast<char>('a' + a)), n, 1});
    const int dim = random.pick(-1, static_cast<int>(shape.size()) - 1);
    if (dim < 1) {  // members are never cut
      placements.push_back(replicate());
      continue;
    }
    const auto d = static_cast<std::size_t>(dim);
    placements.push_back(
        shard(dim, cut[d] ? random.for_any_length(n).split : random.any(shape[d], n).split));
    cut[d] = true;
  }
  // A scattered list of ranks that overlaps that of other layouts.
  std::set<int> chosen;
  while (static_cast<int>(chosen.size()) < size) chosen.insert(random.pick(0, 2 * size + 3));
  std::vector<Rank> ranks;
  for (const int rank : chosen) ranks.push_back(Rank(rank));
  for (std::size_t i = ranks.size(); i > 1; --i) {
    std::swap(ranks[i - 1],
              ranks[static_cast<std::size_t>(random.pick(0, static_cast<int>(i) - 1))]);
  }
  return Layout(shape, Mesh(ranks, axes), placements);
}

}  // namespace

TEST_CASE("parcels: every pair of small layouts agrees with looking at each element",
          "[models][parcels][oracle]") {
  int pairs = 0;
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{5}, {6, 4}, {2, 3, 2}}) {
    for (const auto& [sources, first, destinations] :
         {std::tuple{1, 0, 4}, std::tuple{4, 4, 6}, std::tuple{6, 3, 4}, std::tuple{4, 0, 4}}) {
      for (const Layout& source : all_layouts(shape, 0, sources)) {
        for (const Layout& destination : all_layouts(shape, first, destinations)) {
          const Refit refit = refit_of(source, destination, first + destinations);
          const std::vector<Parcel> parcels = find_parcels(refit);
          ++pairs;
          if (fault(refit, parcels).empty()) continue;
          CAPTURE(shape, sources, first, destinations, pairs);
          REQUIRE(fault(refit, parcels) == "");
        }
      }
    }
  }
  REQUIRE(pairs > 2000);
}

TEST_CASE("parcels: random layouts of several classes agree with looking at each element",
          "[models][parcels][random][oracle]") {
  const std::uint32_t seed = 20250802;
  CAPTURE(seed);
  RandomCuts random(seed);
  const auto group_of = [](const TensorClass& c) { return c.dtype == Dtype::bf16 ? 7 : 1; };
  for (int round = 0; round < 800; ++round) {
    CAPTURE(round);
    Refit refit;
    refit.ranks = 200;
    refit.stages = 2;
    const int classes = random.pick(1, 3);
    for (int c = 0; c < classes; ++c) {
      std::vector<std::int64_t> shape{random.pick(1, 2)};
      const int dims = random.pick(1, 2);
      for (int d = 0; d < dims; ++d) shape.push_back(random.pick(1, 12));
      const Layout source = random_layout(random, shape);
      // Sometimes the same on both sides, and sometimes as an earlier class.
      const Layout destination = random.pick(0, 9) == 0 ? source : random_layout(random, shape);
      refit.classes.push_back(tensor_class(source, destination,
                                           random.pick(0, 1) == 0 ? Dtype::bf16 : Dtype::f32,
                                           random.pick(0, 1)));
      if (random.pick(0, 3) == 0) refit.classes.push_back(refit.classes.back());
    }
    const bool grouped = random.pick(0, 1) == 0;
    const std::vector<Parcel> parcels =
        grouped ? find_parcels(refit, group_of) : find_parcels(refit);
    REQUIRE(fault(refit, parcels, grouped ? group_of : std::function<int(const TensorClass&)>{}) ==
            "");
    REQUIRE(parcels == (grouped ? find_parcels(refit, group_of) : find_parcels(refit)));
    for (const int chunks : {1, 2, 3, 7}) require_chunks_sum(refit, parcels, chunks);
  }
}

TEST_CASE("parcels: rows with the same owners and demanders are one parcel, each run one fragment",
          "[models][parcels]") {
  // Source [gate; up] of 4 + 4 rows over 2; destination halves over 2: rank 0 keeps gate 0..1 and
  // up 0..1, of which rows 0..1 go to rank 2 and rows 4..5 to rank 3.
  const Mesh from = Mesh::row_major(Rank(0), {{"tp", 2}}),
             to = Mesh::row_major(Rank(2), {{"tp", 2}});
  Refit refit;
  refit.ranks = 4;
  refit.stages = 1;
  refit.classes.push_back(tensor_class(Layout({3, 8}, from, {shard(1, Split::blocks({4, 4}))}),
                                       Layout({3, 8}, to, {shard(1)}), Dtype::bf16));
  const std::vector<Parcel> parcels = find_parcels(refit);
  REQUIRE(parcels.size() == 4);
  REQUIRE(parcels[0].owners == std::vector{Rank(0)});
  REQUIRE(parcels[0].demanders == std::vector{Rank(2)});
  REQUIRE(parcels[0].fragments == std::vector<Fragment>{{ClassId(0), {{0, 3}, {0, 2}}}});
  REQUIRE(parcels[0].bytes == 3 * 2 * 2);

  // Replicated at the destination: what rank 0 holds is one parcel of two runs.
  refit.classes[0].destination = Layout({3, 8}, to, {replicate()});
  const std::vector<Parcel> whole = find_parcels(refit);
  REQUIRE(whole.size() == 2);
  REQUIRE(whole[0].demanders == std::vector{Rank(2), Rank(3)});
  REQUIRE(whole[0].fragments ==
          std::vector<Fragment>{{ClassId(0), {{0, 3}, {0, 2}}}, {ClassId(0), {{0, 3}, {4, 6}}}});
}

TEST_CASE("parcels: stages and groups stay apart, classes of one stage merge",
          "[models][parcels]") {
  const Layout source({1, 4}, Mesh::row_major(Rank(0), {{"tp", 2}}), {shard(1)});
  const Layout destination({1, 4}, Mesh::row_major(Rank(2), {{"tp", 2}}), {shard(1)});
  Refit refit;
  refit.ranks = 4;
  refit.stages = 2;
  for (const int stage : {0, 1, 0})
    refit.classes.push_back(tensor_class(source, destination, Dtype::u8, stage));
  refit.classes[2].role = Role::router;

  const std::vector<Parcel> merged = find_parcels(refit);
  REQUIRE(merged.size() == 4);  // 2 ranks x 2 stages
  REQUIRE(merged[0].fragments.size() == 2);
  REQUIRE(merged[0].fragments[1].tensor_class == ClassId(2));
  REQUIRE(merged[2].stage == 1);

  const std::vector<Parcel> apart =
      find_parcels(refit, [](const TensorClass& c) { return c.role == Role::router ? 1 : 0; });
  REQUIRE(apart.size() == 6);
  REQUIRE(apart[4].group == 1);
  REQUIRE(apart[4].fragments == std::vector<Fragment>{{ClassId(2), {{0, 1}, {0, 2}}}});
}

TEST_CASE("parcels: padding is in no parcel", "[models][parcels]") {
  // 10 rows, padded to 16 over 4 here and to 12 over 3 there: all 10 travel, no more.
  Refit refit;
  refit.ranks = 7;
  refit.stages = 1;
  refit.classes.push_back(tensor_class(
      Layout({1, 10}, Mesh::row_major(Rank(0), {{"tp", 4}}), {shard(1, Split::padded(16))}),
      Layout({1, 10}, Mesh::row_major(Rank(4), {{"tp", 3}}), {shard(1, Split::padded(12))})));
  std::int64_t bytes = 0;
  for (const Parcel& parcel : find_parcels(refit)) {
    bytes += parcel.bytes;
    REQUIRE(parcel.owners != std::vector{Rank(3)});  // padding only
  }
  REQUIRE(bytes == 10);
}

TEST_CASE("parcels: as many for a million members, and for many replicas, as for one",
          "[models][parcels]") {
  const auto parcels_of = [](std::int64_t members, int replicas) {
    const std::vector<std::int64_t> shape{members, 256, 64, 32};
    Refit refit;
    refit.ranks = 16 + 8 * replicas;
    refit.stages = 1;
    refit.classes.push_back(
        tensor_class(Layout(shape, Mesh::row_major(Rank(0), {{"ep", 16}}), {shard(1)}),
                     Layout(shape, Mesh::row_major(Rank(16), {{"engine", replicas}, {"tp", 8}}),
                            {replicate(), shard(2)})));
    return find_parcels(refit);
  };
  const std::vector<Parcel> one = parcels_of(1, 1), many = parcels_of(1'000'000, 1),
                            copies = parcels_of(1, 64);
  REQUIRE(one.size() == 16 * 8);
  REQUIRE(many.size() == one.size());
  REQUIRE(copies.size() == one.size());
  for (std::size_t p = 0; p < one.size(); ++p) {
    REQUIRE(many[p].fragments.size() == 1);
    REQUIRE(many[p].bytes == 1'000'000 * one[p].bytes);
    REQUIRE(copies[p].fragments == one[p].fragments);
    REQUIRE(copies[p].demanders.size() == 64);
  }
}

TEST_CASE("parcels: a refit without classes has none", "[models][parcels]") {
  REQUIRE(find_parcels(Refit{}).empty());
}

}  // namespace refit::test
