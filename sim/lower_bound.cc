#include "sim/lower_bound.h"

#include <optional>

#include <fmt/format.h>

#include "sim/detail/cut_parts.h"
#include "sim/detail/demand.h"

namespace refit {
namespace {

using detail::CutParts;
using detail::Demand;

void keep_larger(std::optional<Cut>& largest, Cut cut) {
  if (cut.bytes <= 0) return;
  if (!largest || cut.seconds() > largest->seconds()) largest = std::move(cut);
}

void add_kind(std::optional<Cut> cut, LowerBound& bound) {
  if (cut) bound.kinds.push_back(*std::move(cut));
}

// The slowest border of all parts, into them and out of them.
void add_borders(const Demand& demand, const CutParts& cut, LowerBound& bound) {
  if (cut.parts() < 2) return;
  const detail::BorderBytes border = detail::border_bytes(demand, cut.of_rank, cut.parts());
  std::optional<Cut> in, out;
  for (std::size_t p = 0; p < cut.parts(); ++p) {
    if (const auto rate = cut.in_bytes_per_s[p]) {
      keep_larger(in,
                  {fmt::format("{} ingress ({})", cut.names[p], cut.ports), border.in[p], *rate});
    }
    if (const auto rate = cut.out_bytes_per_s[p]) {
      keep_larger(out,
                  {fmt::format("{} egress ({})", cut.names[p], cut.ports), border.out[p], *rate});
    }
  }
  add_kind(std::move(in), bound);
  add_kind(std::move(out), bound);
}

// What must leave the islands that own it, over all NICs of all these islands.
void add_sources(const Demand& demand, const CutParts& islands, LowerBound& bound) {
  const detail::LeavingBytes leaving =
      detail::leaving_bytes(demand, islands.of_rank, islands.parts());
  double rate = 0;
  for (std::size_t p = 0; p < islands.parts(); ++p) {
    if (leaving.owns[p]) rate += islands.out_bytes_per_s[p].value_or(0);
  }
  std::optional<Cut> cut;
  keep_larger(cut, {"sources' egress (NIC)", leaving.bytes, rate});
  add_kind(std::move(cut), bound);
}

// Each island of a site with a core takes what it lacks through that core.
void add_cores(const Cluster& cluster, const Demand& demand, const CutParts& islands,
               LowerBound& bound) {
  bool any = false;
  for (int s = 0; s < cluster.sites(); ++s) any = any || cluster.core(SiteId{s}).has_value();
  if (!any) return;
  const detail::BorderBytes border = detail::border_bytes(demand, islands.of_rank, islands.parts());
  std::vector<double> bytes(static_cast<std::size_t>(cluster.sites()), 0);
  std::vector<bool> counted(islands.parts(), false);
  for (int r = 0; r < cluster.gpus(); ++r) {
    const auto island = static_cast<std::size_t>(islands.of_rank[Rank{r}.index()]);
    if (counted[island]) continue;
    counted[island] = true;
    bytes[cluster.site(Rank{r}).index()] += border.in[island];
  }
  std::optional<Cut> largest;
  for (int s = 0; s < cluster.sites(); ++s) {
    const auto core = cluster.core(SiteId{s});
    if (!core) continue;
    const Link& link = cluster.link(*core);
    keep_larger(largest, {fmt::format("fabric core ({})", link.name), bytes[SiteId{s}.index()],
                          link.bandwidth_bytes_per_s});
  }
  add_kind(std::move(largest), bound);
}

}  // namespace

LowerBound lower_bound(const std::vector<Parcel>& parcels, const Cluster& cluster) {
  const Demand demand = detail::group_demand(parcels);
  const CutParts domains = detail::domain_parts(cluster);
  const CutParts islands = detail::island_parts(cluster);

  LowerBound bound;
  add_borders(demand, domains, bound);
  // Elsewhere islands are domains, under another name.
  if (islands.parts() < domains.parts()) add_borders(demand, islands, bound);
  add_borders(demand, detail::rank_parts(cluster), bound);
  add_sources(demand, islands, bound);
  add_borders(demand, detail::leaf_parts(cluster), bound);
  add_borders(demand, detail::site_parts(cluster), bound);
  add_cores(cluster, demand, islands, bound);

  for (const Cut& cut : bound.kinds) {
    if (cut.seconds() <= bound.seconds) continue;
    bound.seconds = cut.seconds();
    bound.binding = cut;
  }
  return bound;
}

}  // namespace refit
