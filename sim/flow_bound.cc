#include "sim/flow_bound.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "sim/detail/demand.h"
#include "sim/detail/flow_rows.h"
#include "sim/detail/linear_program.h"
#include "sim/detail/nvlink_bound.h"
#include "sim/detail/orbits.h"

namespace refit {
namespace {

using detail::LinearProgram;
using detail::Orbits;
using detail::RateRows;
using detail::TrunkRows;

constexpr double kNone = LinearProgram::kUnbounded;

// Owners and needers of one class of an orbit, by colour; they are the same for all its classes.
struct Sides {
  std::map<int, int> owners, needers;  // colour -> islands
  int needer_count = 0;
  double bytes = 0;  // of all classes of the orbit
};

std::vector<Sides> sides_of(const DomainClasses& view, const Orbits& orbits) {
  std::vector<Sides> sides;
  for (std::size_t o = 0; o < orbits.first_class.size(); ++o) {
    const auto& c = view.classes[static_cast<std::size_t>(orbits.first_class[o])];
    Sides s;
    for (const int i : c.owners) ++s.owners[orbits.colour_of_island[static_cast<std::size_t>(i)]];
    for (const int i : c.needers) ++s.needers[orbits.colour_of_island[static_cast<std::size_t>(i)]];
    s.needer_count = static_cast<int>(c.needers.size());
    s.bytes = c.bytes * orbits.classes_of_orbit[o];
    sides.push_back(std::move(s));
  }
  return sides;
}

std::vector<double> egress_of_colours(const DomainClasses& view, const Orbits& orbits) {
  std::vector<double> rate(orbits.islands_of_colour.size(), 0);
  for (std::size_t i = 0; i < orbits.colour_of_island.size(); ++i)
    rate[static_cast<std::size_t>(orbits.colour_of_island[i])] += view.out_bytes_per_s[i];
  return rate;
}

// minimise t: each class leaves its owners at least once, and is sent once per island that needs
// it.
double egress_time(const DomainClasses& view, const Orbits& orbits, bool relays, double least) {
  LinearProgram program;
  const int t = program.add_column(1);
  program.set(program.add_row(least, kNone), t, 1);
  RateRows egress(program, t, egress_of_colours(view, orbits));
  TrunkRows trunks(view, program, t);
  const std::vector<Sides> sides = sides_of(view, orbits);
  for (std::size_t o = 0; o < sides.size(); ++o) {
    const Sides& s = sides[o];
    if (s.needer_count == 0) continue;
    const double bytes = s.bytes * detail::kGigabytes;
    const double sent = bytes * s.needer_count;
    const int once = program.add_row(relays ? bytes : sent, kNone);
    const int count = relays ? program.add_row(sent, sent) : -1;
    // With trunks every class is its own orbit, and every island its own colour.
    if (trunks.any() && relays) {
      const auto& c = view.classes[static_cast<std::size_t>(orbits.first_class[o])];
      std::vector<detail::Received> received;
      for (const int i : c.needers) received.push_back({i, -1, bytes});
      trunks.begin(c, bytes, received);
    }
    const auto add = [&](int colour, bool owner) {
      const int y = program.add_column(0);
      egress.use(colour, y);
      if (owner) program.set(once, y, 1);
      if (count >= 0) program.set(count, y, 1);
      if (trunks.any() && relays) trunks.add_sender(colour, y);
    };
    for (const auto& [colour, n] : s.owners) add(colour, true);
    if (relays) {
      for (const auto& [colour, n] : s.needers) add(colour, false);
    }
  }
  return program.optimum().cost;
}

// Which owner island sends the first copy of each class, so that the most loaded sends least.
std::vector<std::vector<double>> first_copy_shares(const DomainClasses& view,
                                                   const Orbits& orbits) {
  LinearProgram program;
  const int t = program.add_column(1);
  RateRows egress(program, t, egress_of_colours(view, orbits));
  TrunkRows trunks(view, program, t);
  const std::vector<Sides> sides = sides_of(view, orbits);
  std::vector<std::map<int, int>> columns(sides.size());
  bool several = false;
  for (std::size_t o = 0; o < sides.size(); ++o) {
    if (sides[o].needer_count == 0) continue;
    several =
        several || view.classes[static_cast<std::size_t>(orbits.first_class[o])].owners.size() > 1;
    const double bytes = sides[o].bytes * detail::kGigabytes;
    const int row = program.add_row(bytes, bytes);
    for (const auto& [colour, n] : sides[o].owners) {
      const int y = program.add_column(0);
      egress.use(colour, y);
      program.set(row, y, 1);
      // With trunks every class is its own orbit, and every island its own colour.
      if (trunks.any())
        trunks.add_first_copies(view.classes[static_cast<std::size_t>(orbits.first_class[o])],
                                colour, y);
      columns[o][colour] = y;
    }
  }
  std::optional<LinearProgram::Solution> solution;
  if (several) solution = program.minimise();
  std::vector<std::vector<double>> shares;
  for (std::size_t c = 0; c < view.classes.size(); ++c) {
    std::vector<double>& share = shares.emplace_back();
    const auto orbit = static_cast<std::size_t>(orbits.orbit_of_class[c]);
    if (sides[orbit].needer_count == 0) continue;
    double sum = 0;
    for (const int owner : view.classes[c].owners) {
      const int colour = orbits.colour_of_island[static_cast<std::size_t>(owner)];
      const double y =
          solution ? std::max(0.0, solution->x[static_cast<std::size_t>(columns[orbit].at(colour))])
                   : view.out_bytes_per_s[static_cast<std::size_t>(owner)];
      share.push_back(solution ? y / sides[orbit].owners.at(colour) : y);
      sum += share.back();
    }
    for (double& part : share) part = sum > 0 ? part / sum : 1 / static_cast<double>(share.size());
  }
  return shares;
}

// Content that one island alone owns and wants stays there (nobody else would carry it), and there
// a rank gets it by NVLink only.
Cut inside_ingress(const detail::Demand& demand, const Cluster& cluster,
                   const DomainClasses& view) {
  std::vector<double> lacking(static_cast<std::size_t>(cluster.gpus()), 0);
  const auto island_of = [&](const std::vector<Rank>& ranks) {  // -1: several
    const int first = view.of_rank[ranks.front().index()];
    const bool one = std::all_of(ranks.begin(), ranks.end(),
                                 [&](Rank r) { return view.of_rank[r.index()] == first; });
    return one ? first : -1;
  };
  std::vector<int> island_of_list;
  for (const auto* list : demand.lists) island_of_list.push_back(island_of(*list));
  for (const detail::Demand::Pair& pair : demand.pairs) {
    const int island = island_of_list[pair.owners];
    if (island < 0 || island != island_of_list[pair.demanders]) continue;
    const std::vector<Rank>& owners = *demand.lists[pair.owners];
    for (const Rank rank : *demand.lists[pair.demanders]) {
      if (!std::binary_search(owners.begin(), owners.end(), rank))
        lacking[rank.index()] += pair.bytes;
    }
  }
  Cut binding;
  for (std::size_t r = 0; r < lacking.size(); ++r) {
    const auto port = cluster.nvlink_in(Rank(static_cast<int>(r)));
    if (!port || lacking[r] == 0) continue;
    const Cut cut{fmt::format("rank {} ingress (NVLink, content of its domain)", r), lacking[r],
                  cluster.link(*port).bandwidth_bytes_per_s};
    if (binding.bytes == 0 || cut.seconds() > binding.seconds()) binding = cut;
  }
  return binding;
}

}  // namespace

FlowBound flow_bound(const std::vector<Parcel>& parcels, const Cluster& cluster,
                     const FlowBoundOptions& options) {
  return flow_bound(parcels, cluster, domain_classes(parcels, cluster), options);
}

FlowBound flow_bound(const std::vector<Parcel>& parcels, const Cluster& cluster,
                     const DomainClasses& view, const FlowBoundOptions& options) {
  FlowBound bound;
  bound.cuts = lower_bound(parcels, cluster);
  bound.seconds = bound.no_relay_seconds = bound.cuts.seconds;
  bound.binding = bound.cuts.binding.name;
  const detail::Demand demand = detail::group_demand(parcels);
  if (const Cut inside = inside_ingress(demand, cluster, view);
      inside.bytes > 0 && inside.seconds() > bound.seconds) {
    bound.seconds = inside.seconds();
    bound.binding = inside.name;
  }
  const bool trunks = !view.pod_in_bytes_per_s.empty();
  const Orbits orbits =
      options.orbits && !trunks ? detail::find_orbits(view) : detail::no_orbits(view);
  const double least_s = bound.seconds;
  const double with_relays = egress_time(view, orbits, true, least_s);
  if (with_relays > bound.seconds * (1 + 1e-9)) {
    bound.seconds = with_relays;
    bound.binding = "egress of all islands together (linear program)";
  }
  const detail::NvlinkBound nvlink = detail::nvlink_bound(demand, cluster, view, bound.seconds);
  if (nvlink.seconds > bound.seconds * (1 + 1e-9)) {
    bound.seconds = nvlink.seconds;
    bound.binding = "NVLink and NICs of full domains together (linear program)";
  }
  bound.nic_shares = nvlink.nic_shares;
  bound.no_relay_seconds = std::max(bound.seconds, egress_time(view, orbits, false, least_s));
  bound.first_copy_shares = first_copy_shares(view, orbits);
  return bound;
}

}  // namespace refit
