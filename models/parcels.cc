#include "models/parcels.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "models/coding.h"

namespace refit {
namespace {

using RankListId = int;

// Rank lists seen so far, each once.
class RankLists {
 public:
  RankListId intern(std::vector<Rank> ranks) {
    const auto [at, is_new] =
        ids_.try_emplace(std::move(ranks), static_cast<RankListId>(lists_.size()));
    if (is_new) lists_.push_back(&at->first);
    return at->second;
  }
  const std::vector<Rank>& operator[](RankListId id) const {
    return *lists_[static_cast<std::size_t>(id)];
  }

 private:
  std::map<std::vector<Rank>, RankListId> ids_;
  std::vector<const std::vector<Rank>*> lists_;
};

// The coordinates of one side that hold some rows of one dim; ascending. Usually one.
using Holders = std::vector<int>;

// Rows of one dim with the same holders on both sides.
struct DimGroup {
  int source = 0;  // which set of holders, counted per side and dim
  int destination = 0;
  std::vector<Interval> rows;
};

struct DimGroups {
  std::vector<Holders> sources, destinations;
  std::vector<DimGroup> groups;  // by first row
};

struct Edge {
  std::int64_t at = 0;
  bool opens = false;
  bool of_source = false;
  int coordinate = 0;
};

void add_edges(const DimPieces& pieces, bool of_source, std::vector<Edge>& edges) {
  for (std::size_t i = 0; i < pieces.pieces.size(); ++i) {
    for (const Interval& rows : pieces.pieces[i].intervals()) {
      edges.push_back({rows.begin, true, of_source, static_cast<int>(i)});
      edges.push_back({rows.end, false, of_source, static_cast<int>(i)});
    }
  }
}

void toggle(Holders& holders, const Edge& edge) {
  const auto at = std::lower_bound(holders.begin(), holders.end(), edge.coordinate);
  edge.opens ? void(holders.insert(at, edge.coordinate)) : void(holders.erase(at));
}

// Sweeps over the cuts of both sides in row order.
DimGroups group_rows(const DimPieces& source, const DimPieces& destination) {
  std::vector<Edge> edges;
  add_edges(source, true, edges);
  add_edges(destination, false, edges);
  // At one row, pieces close before others open.
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tuple(a.at, a.opens, a.of_source, a.coordinate) <
           std::tuple(b.at, b.opens, b.of_source, b.coordinate);
  });

  DimGroups result;
  // Numbers equal sets alike, in the order in which they come.
  std::map<Holders, int> source_numbers, destination_numbers;
  const auto number = [](std::map<Holders, int>& numbers, std::vector<Holders>& sets,
                         const Holders& holders) {
    const auto [at, is_new] = numbers.try_emplace(holders, static_cast<int>(sets.size()));
    if (is_new) sets.push_back(holders);
    return at->second;
  };
  std::map<std::pair<int, int>, std::size_t> group_at;
  Holders owners, demanders;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    toggle(edges[e].of_source ? owners : demanders, edges[e]);
    if (e + 1 == edges.size() || edges[e + 1].at == edges[e].at) continue;
    if (owners.empty() || demanders.empty()) continue;
    const std::pair key(number(source_numbers, result.sources, owners),
                        number(destination_numbers, result.destinations, demanders));
    const auto [at, is_new] = group_at.try_emplace(key, result.groups.size());
    if (is_new) result.groups.push_back({key.first, key.second, {}});
    std::vector<Interval>& rows = result.groups[at->second].rows;
    const Interval here{edges[e].at, edges[e + 1].at};
    if (!rows.empty() && rows.back().end == here.begin) {
      rows.back().end = here.end;
    } else {
      rows.push_back(here);
    }
  }
  return result;
}

// The ranks of a layout whose coordinates hold the chosen rows of every dim.
class HolderRanks {
 public:
  HolderRanks(const Layout& layout, std::vector<std::vector<Holders>> holders_by_dim,
              RankLists& lists)
      : layout_(layout), holders_by_dim_(std::move(holders_by_dim)), lists_(lists) {
    const std::size_t dims = layout.shape().size();
    for (std::size_t d = 0; d < dims; ++d)
      axes_.push_back(layout.dim_pieces(static_cast<int>(d)).axes);
    for (std::size_t a = 0; a < layout.placements().size(); ++a) {
      if (!layout.placements()[a].sharded) free_axes_.push_back(static_cast<int>(a));
    }
  }

  // choice[d]: which set of holders of dim d.
  RankListId of(const std::vector<int>& choice) {
    const auto found = cache_.find(choice);
    if (found != cache_.end()) return found->second;
    std::vector<Rank> ranks;
    std::vector<int> coordinate(layout_.mesh().axes().size(), 0);
    collect(choice, 0, coordinate, ranks);
    std::sort(ranks.begin(), ranks.end());
    return cache_[choice] = lists_.intern(std::move(ranks));
  }

 private:
  void collect(const std::vector<int>& choice, std::size_t dim, std::vector<int>& coordinate,
               std::vector<Rank>& ranks) const {
    if (dim == choice.size()) return collect_free(0, coordinate, ranks);
    for (int holder : holders_by_dim_[dim][static_cast<std::size_t>(choice[dim])]) {
      for (std::size_t k = axes_[dim].size(); k-- > 0;) {
        const auto axis = static_cast<std::size_t>(axes_[dim][k]);
        coordinate[axis] = holder % layout_.mesh().axes()[axis].size;
        holder /= layout_.mesh().axes()[axis].size;
      }
      collect(choice, dim + 1, coordinate, ranks);
    }
  }

  void collect_free(std::size_t k, std::vector<int>& coordinate, std::vector<Rank>& ranks) const {
    if (k == free_axes_.size()) return ranks.push_back(layout_.mesh().rank_at(coordinate));
    const auto axis = static_cast<std::size_t>(free_axes_[k]);
    for (int i = 0; i < layout_.mesh().axes()[axis].size; ++i) {
      coordinate[axis] = i;
      collect_free(k + 1, coordinate, ranks);
    }
  }

  const Layout& layout_;
  std::vector<std::vector<Holders>> holders_by_dim_;
  std::vector<std::vector<int>> axes_;
  std::vector<int> free_axes_;
  std::map<std::vector<int>, RankListId> cache_;
  RankLists& lists_;
};

// Calls `visit` with every choice of one index per dim below `sizes`, the last dim fastest.
template <class Visit>
void for_each_choice(const std::vector<std::size_t>& sizes, const Visit& visit) {
  std::vector<std::size_t> choice(sizes.size(), 0);
  while (true) {
    visit(choice);
    std::size_t d = sizes.size();
    while (d > 0 && ++choice[d - 1] == sizes[d - 1]) choice[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

std::int64_t bytes_of(const Refit& refit, const Fragment& fragment) {
  return elements(fragment.region) *
         bytes_per_element(refit.classes[fragment.tensor_class.index()].dtype);
}

std::int64_t chunk_bytes(const Refit& refit, const Parcel& parcel, int chunk) {
  return chunk_bytes(refit, parcel, chunk, parcel.chunks);
}

std::int64_t chunk_bytes(const Refit& refit, const Parcel& parcel, int chunk, int chunks) {
  std::int64_t sum = 0;
  for (const Fragment& fragment : parcel.fragments) {
    sum += slice_elements(fragment.region, chunk, chunks) *
           bytes_per_element(refit.classes[fragment.tensor_class.index()].dtype);
  }
  return sum;
}

std::int64_t wire_bytes(double share, std::int64_t content) {
  if (share >= 1) return content;
  const auto coded = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(content)));
  return std::min(content, std::max(kCodedHeaderBytes, coded));
}

std::int64_t wire_bytes(const Parcel& parcel) { return wire_bytes(parcel.share, parcel.bytes); }

std::int64_t chunk_wire_bytes(const Refit& refit, const Parcel& parcel, int chunk) {
  return chunk_wire_bytes(refit, parcel, chunk, parcel.chunks);
}

std::int64_t chunk_wire_bytes(const Refit& refit, const Parcel& parcel, int chunk, int chunks) {
  return wire_bytes(parcel.share, chunk_bytes(refit, parcel, chunk, chunks));
}

// By fragments and then chunks: what a fragment has across the side that is cut, is asked once.
std::vector<std::int64_t> chunk_wire_sums(const Refit& refit, const Parcel& parcel) {
  if (parcel.chunks == 1) return {0, chunk_wire_bytes(refit, parcel, 0)};
  std::vector<std::int64_t> sums(static_cast<std::size_t>(parcel.chunks) + 1, 0);
  for (const Fragment& fragment : parcel.fragments) {
    const Interval& side = fragment.region[sliced_dim(fragment.region, parcel.chunks)];
    const std::int64_t across = bytes_of(refit, fragment) / side.size();
    for (int c = 0; c < parcel.chunks; ++c)
      sums[static_cast<std::size_t>(c) + 1] += sliced_side(side, c, parcel.chunks).size() * across;
  }
  for (std::size_t c = 1; c < sums.size(); ++c)
    sums[c] = sums[c - 1] + wire_bytes(parcel.share, sums[c]);
  return sums;
}

std::vector<Parcel> find_parcels(const Refit& refit,
                                 const std::function<int(const TensorClass&)>& group_of) {
  using Key = std::tuple<int, int, RankListId, RankListId>;  // stage, group, owners, demanders
  RankLists lists;
  std::map<Key, std::size_t> parcel_at;
  std::vector<Parcel> parcels;

  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    const TensorClass& tensor_class = refit.classes[c];
    const int group = group_of ? group_of(tensor_class) : 0;
    const std::size_t dims = tensor_class.shape().size();

    std::vector<DimGroups> by_dim;
    std::vector<std::size_t> sizes;
    std::vector<std::vector<Holders>> sources, destinations;
    for (int d = 0; d < static_cast<int>(dims); ++d) {
      by_dim.push_back(
          group_rows(tensor_class.source.dim_pieces(d), tensor_class.destination.dim_pieces(d)));
      sizes.push_back(by_dim.back().groups.size());
      sources.push_back(by_dim.back().sources);
      destinations.push_back(by_dim.back().destinations);
    }
    HolderRanks owners(tensor_class.source, std::move(sources), lists);
    HolderRanks demanders(tensor_class.destination, std::move(destinations), lists);

    std::vector<int> source_choice(dims), destination_choice(dims);
    for_each_choice(sizes, [&](const std::vector<std::size_t>& choice) {
      std::vector<std::size_t> interval_counts;
      for (std::size_t d = 0; d < dims; ++d) {
        const DimGroup& rows = by_dim[d].groups[choice[d]];
        source_choice[d] = rows.source;
        destination_choice[d] = rows.destination;
        interval_counts.push_back(rows.rows.size());
      }
      const Key key(tensor_class.stage, group, owners.of(source_choice),
                    demanders.of(destination_choice));
      const auto [at, is_new] = parcel_at.try_emplace(key, parcels.size());
      if (is_new) {
        Parcel parcel;
        parcel.owners = lists[std::get<2>(key)];
        parcel.demanders = lists[std::get<3>(key)];
        parcel.stage = tensor_class.stage;
        parcel.group = group;
        parcels.push_back(std::move(parcel));
      }
      Parcel& parcel = parcels[at->second];
      for_each_choice(interval_counts, [&](const std::vector<std::size_t>& interval) {
        Fragment fragment{ClassId(static_cast<std::int64_t>(c)), Region(dims)};
        for (std::size_t d = 0; d < dims; ++d) {
          fragment.region[d] = by_dim[d].groups[choice[d]].rows[interval[d]];
        }
        parcel.bytes += bytes_of(refit, fragment);
        parcel.fragments.push_back(std::move(fragment));
      });
    });
  }
  return parcels;
}

}  // namespace refit
