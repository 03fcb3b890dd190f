#include "sim/detail/collective_path.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "sim/detail/path_builder.h"
#include "topology/ring_entries.h"

namespace refit::detail {
namespace {

// The content of an all-gather that starts on the same ranks: one row (pipeline stage), some
// columns.
struct Holding {
  std::size_t home_row = 0;
  std::vector<std::size_t> columns;  // ascending
  double bytes = 0;
};

// A group's ranks as a grid: row by row, `width` columns.
struct Grid {
  std::span<const Rank> ranks;
  std::size_t width = 0;

  std::size_t rows() const { return ranks.size() / width; }
  Rank at(std::size_t row, std::size_t column) const { return ranks[row * width + column]; }
  std::span<const Rank> row(std::size_t r) const { return ranks.subspan(r * width, width); }
};

Grid grid_of(const Schedule& schedule, GroupId id) {
  const Group& group = schedule.groups[id.index()];
  const auto width = static_cast<std::size_t>(std::max(group.width, 0));
  if (width == 0 || group.ranks.size() % width != 0) {
    throw Error(ErrorCode::bad_input, fmt::format("group {}: width {} does not divide its {} ranks",
                                                  id.value, group.width, group.ranks.size()));
  }
  return {group.ranks, width};
}

std::vector<Holding> holdings(const Schedule& schedule, const Grid& grid, CargoId cargo) {
  std::map<Rank, std::size_t> place;
  for (std::size_t i = 0; i < grid.ranks.size(); ++i) place.try_emplace(grid.ranks[i], i);

  std::map<std::pair<std::size_t, std::vector<std::size_t>>, double> bytes;
  std::vector<std::size_t> columns;
  for (const ParcelId id : schedule.cargos[cargo.index()].parcels) {
    const Parcel& parcel = schedule.parcels[id.index()];
    columns.clear();
    std::size_t home = 0;
    for (const Rank owner : parcel.owners) {
      const auto found = place.find(owner);
      if (found == place.end()) continue;
      const std::size_t row = found->second / grid.width;
      if (columns.empty()) home = row;
      if (row == home) columns.push_back(found->second % grid.width);
    }
    std::sort(columns.begin(), columns.end());
    bytes[{home, columns}] += static_cast<double>(wire_bytes(parcel));
  }

  std::vector<Holding> list;
  for (const auto& [where, sum] : bytes) list.push_back({where.first, where.second, sum});
  return list;
}

// Each column's shards go from their home row down the other rows. Returns the longest chain's
// latency.
double add_columns(const Cluster& cluster, const Grid& grid, const std::vector<Holding>& held,
                   double total, PathBuilder& path) {
  const std::size_t rows = grid.rows();
  std::map<std::pair<std::size_t, std::size_t>, double> starts;  // (home row, column) -> bytes
  for (const Holding& holding : held) {
    for (const std::size_t column : holding.columns) {
      starts[{holding.home_row, column}] += holding.bytes;
    }
  }
  double longest = 0;
  for (const auto& [start, bytes] : starts) {
    const auto [home, column] = start;
    double latency = 0;
    for (std::size_t i = 0; i + 1 < rows; ++i) {
      const Rank from = grid.at((home + i) % rows, column);
      const Rank to = grid.at((home + i + 1) % rows, column);
      path.add_route(from, to, bytes / total);
      latency += route(cluster, from, to).latency_s;
    }
    longest = std::max(longest, latency);
  }
  return longest;
}

// What each member of a domain takes in over NVLink: all it lacks but its share of what the
// domain's NICs bring in.
std::vector<double> inside_weights(const DomainMembers& members, const std::vector<double>& owned,
                                   double need, double total) {
  std::vector<double> weights;
  for (const std::size_t column : members.columns) {
    const double by_nic = need / static_cast<double>(members.ranks.size());
    weights.push_back(std::max(0.0, (total - owned[column] - by_nic) / total));
  }
  return weights;
}

// One row is a ring over its domains. Returns the latency until the farthest byte has come round.
double add_row(const Cluster& cluster, std::span<const Rank> row, const std::vector<Holding>& held,
               const std::vector<double>& owned, double total, PathBuilder& path) {
  const std::vector<DomainMembers> domains = by_domain(cluster, row);
  std::vector<std::size_t> domain_of_column(row.size());
  for (std::size_t d = 0; d < domains.size(); ++d) {
    for (const std::size_t column : domains[d].columns) domain_of_column[column] = d;
  }

  std::vector<double> need(domains.size(), total);
  std::vector<std::size_t> seen_in(domains.size(), held.size());
  for (std::size_t h = 0; h < held.size(); ++h) {
    for (const std::size_t column : held[h].columns) {
      const std::size_t d = domain_of_column[column];
      if (std::exchange(seen_in[d], h) != h) need[d] -= held[h].bytes;
    }
  }

  double latency = 0;
  std::vector<double> hops;  // of the ring that carry bytes
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const std::size_t next = (d + 1) % domains.size();
    if (next != d && need[next] > 0) {
      path.add_domain_hop(domains[d], domains[next], need[next] / total);
      hops.push_back(path.hop_latency(domains[d], domains[next]));
    }
    path.add_inside(domains[d], inside_weights(domains[d], owned, need[d], total));
    const auto inside = static_cast<double>(domains[d].ranks.size() - 1);
    if (inside > 0) latency += inside * path.inside_latency(domains[d]);
  }
  for (const double hop : hops) latency += hop;
  // No byte goes the whole way round: it stops one hop before it comes back to its owner.
  const bool closed = domains.size() > 1 && hops.size() == domains.size();
  if (closed) latency -= *std::min_element(hops.begin(), hops.end());
  return latency;
}

CollectivePath all_gather_path(const Schedule& schedule, const Cluster& cluster, const Op& op) {
  const Grid grid = grid_of(schedule, op.group);
  const std::vector<Holding> held = holdings(schedule, grid, op.cargo);
  double total = 0;
  std::vector<double> owned(grid.width, 0);
  for (const Holding& holding : held) {
    total += holding.bytes;
    for (const std::size_t column : holding.columns) owned[column] += holding.bytes;
  }
  PathBuilder path(cluster);
  if (total <= 0) return std::move(path).finish(0);

  const double down = add_columns(cluster, grid, held, total, path);
  double across = 0;
  for (std::size_t r = 0; r < grid.rows(); ++r) {
    across = std::max(across, add_row(cluster, grid.row(r), held, owned, total, path));
  }
  return std::move(path).finish(down + across);
}

CollectivePath broadcast_path(const Schedule& schedule, const Cluster& cluster, const Op& op) {
  const std::vector<Rank> members = broadcast_members(schedule, op);
  std::vector<DomainMembers> chain = by_domain(cluster, members);
  const auto root_first = std::find_if(chain.begin(), chain.end(), [&](const DomainMembers& one) {
    return one.domain == cluster.domain(op.src);
  });
  std::rotate(chain.begin(), root_first, root_first + 1);

  std::vector<std::vector<Rank>> domains;
  for (const DomainMembers& one : chain) domains.push_back(one.ranks);
  const std::vector<std::vector<Rank>> entries = ring_entries(cluster, domains);
  const auto rails = static_cast<double>(entries.front().size());

  PathBuilder path(cluster);
  double latency = 0;
  for (std::size_t d = 0; d < chain.size(); ++d) {
    // Who gets a share by NIC has the rest from its neighbours, as the others have all of it.
    std::vector<double> weight_in(chain[d].ranks.size(), 1);
    for (std::size_t i = 0; i < weight_in.size(); ++i) {
      const Rank rank = chain[d].ranks[i];
      if (d == 0) {
        if (rank == op.src) weight_in[i] = 0;
      } else if (std::ranges::find(entries[d], rank) != entries[d].end()) {
        weight_in[i] = 1 - 1 / rails;
      }
    }
    path.add_inside(chain[d], weight_in);
    latency += static_cast<double>(chain[d].ranks.size() - 1) * path.inside_latency(chain[d]);
    if (d + 1 == chain.size()) continue;
    path.add_ring_hop(entries[d], entries[d + 1], 1);
    latency += path.hop_latency(chain[d], chain[d + 1]);
  }
  CollectivePath finished = std::move(path).finish(latency);
  finished.rails = static_cast<int>(rails);
  return finished;
}

}  // namespace

std::vector<Rank> broadcast_members(const Schedule& schedule, const Op& op) {
  std::vector<Rank> members = schedule.groups[op.group.index()].ranks;
  if (std::find(members.begin(), members.end(), op.src) == members.end()) {
    members.insert(members.begin(), op.src);
  }
  return members;
}

const CollectivePath& CollectivePaths::of(const Op& op) {
  // A broadcast's links depend on its root, an all-gather's on who owns what of the cargo.
  const bool broadcast = op.kind == OpKind::broadcast;
  const std::tuple key{op.kind, op.group, broadcast ? op.src.value : op.cargo.value};
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  return made_
      .emplace(key, broadcast ? broadcast_path(schedule_, cluster_, op)
                              : all_gather_path(schedule_, cluster_, op))
      .first->second;
}

}  // namespace refit::detail
