#include "schedule/detail/shards.h"

#include <algorithm>
#include <map>

namespace refit::detail {

Shards::Shards(const Layout& layout) {
  std::size_t count = 1;
  for (int d = 0; d < static_cast<int>(layout.shape().size()); ++d) {
    pieces_.push_back(layout.dim_pieces(d));
    count *= pieces_.back().pieces.size();
  }
  ranks_.resize(count);
  const Mesh& mesh = layout.mesh();
  for (int i = 0; i < mesh.size(); ++i) {
    const std::vector<int> coordinate = mesh.coordinate_of(i);
    std::size_t shard = 0;
    for (const DimPieces& dim : pieces_) {
      for (const int axis : dim.axes) {
        const auto a = static_cast<std::size_t>(axis);
        shard = shard * static_cast<std::size_t>(mesh.axes()[a].size) +
                static_cast<std::size_t>(coordinate[a]);
      }
    }
    if (ranks_[shard].empty()) in_mesh_order_.push_back(shard);
    ranks_[shard].push_back(mesh.rank_at(coordinate));
  }
  for (std::vector<Rank>& ranks : ranks_) std::sort(ranks.begin(), ranks.end());
}

const IntervalSet& Shards::side(std::size_t shard, std::size_t dim) const {
  for (std::size_t later = pieces_.size(); later-- > dim + 1;)
    shard /= pieces_[later].pieces.size();
  return pieces_[dim].pieces[shard % pieces_[dim].pieces.size()];
}

PieceIndex::PieceIndex(const DimPieces& dim) {
  struct Edge {  // a piece begins or ends
    std::int64_t row = 0;
    int piece = 0;
  };
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < dim.pieces.size(); ++i) {
    for (const Interval& rows : dim.pieces[i].intervals()) {
      edges.push_back({rows.begin, static_cast<int>(i)});
      edges.push_back({rows.end, static_cast<int>(i)});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.row < b.row; });

  std::map<std::vector<int>, std::size_t> number_of;
  std::vector<int> open;  // ascending
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto place = std::lower_bound(open.begin(), open.end(), edges[e].piece);
    const bool ends = place != open.end() && *place == edges[e].piece;
    if (ends) {
      open.erase(place);
    } else {
      open.insert(place, edges[e].piece);
    }
    if (e + 1 < edges.size() && edges[e + 1].row == edges[e].row) continue;
    const auto [found, is_new] = number_of.try_emplace(open, sets_.size());
    if (is_new) sets_.push_back(open);
    const bool goes_on = !segments_.empty() && segments_.back().set == found->second;
    if (!goes_on) segments_.push_back({edges[e].row, found->second});
  }
}

std::optional<std::size_t> PieceIndex::holders(const Interval& rows) const {
  const auto next = std::upper_bound(
      segments_.begin(), segments_.end(), rows.begin,
      [](std::int64_t row, const Segment& segment) { return row < segment.begin; });
  const bool ends_inside = next == segments_.end() || rows.end <= next->begin;
  if (next == segments_.begin() || !ends_inside) return std::nullopt;
  return std::prev(next)->set;
}

}  // namespace refit::detail
