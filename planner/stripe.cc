#include <algorithm>
#include <map>

#include "planner/strategies.h"

namespace refit {
namespace {

using Ranks = std::vector<Rank>;

// Parcels with equal owners and equal takers travel together.
using Bundles = std::map<std::pair<Ranks, Ranks>, std::vector<ParcelId>>;

Bundles bundles_of(const StrategyInput& input, const ScheduleBuilder& builder, int stage) {
  Bundles bundles;
  for (const ParcelId id : input.parcels[static_cast<std::size_t>(stage)]) {
    const Parcel& parcel = builder.parcels()[id.index()];
    const Ranks takers = takers_of(parcel);
    if (!takers.empty()) bundles[{parcel.owners, takers}].push_back(id);
  }
  return bundles;
}

}  // namespace

Ranks takers_of(const Parcel& parcel) {
  Ranks takers;
  std::set_difference(parcel.demanders.begin(), parcel.demanders.end(), parcel.owners.begin(),
                      parcel.owners.end(), std::back_inserter(takers));
  return takers;
}

// Stage by stage, in streams: every taker of a content gets a stripe of it, all owners taking
// turns, and then hands it to the other takers. The stripes of all takers go at the same time, as
// an all-gather's do.
void stripe(const StrategyInput& input, ScheduleBuilder& builder) {
  builder.begin_phase("reshard");
  for_each_stage(input, [&](int stage, const StageWork& work, int stream) {
    const int lane = network_lane(stream);
    const auto next = [&] { return Slot{lane, builder.next_round(lane)}; };
    convert(lane, work.sources, work.convert_before, builder);
    if (input.conduct.stacks)
      builder.compute(next(), Work::stack, builder.group(work.sources), work.stacked_calls, 0);
    builder.compute(next(), Work::call,
                    builder.group(united(work.sources, input.refit.destinations)), work.calls, 0);

    struct Stripe {
      OpId arrival;
      Rank at;
      CargoId cargo;
      GroupId takers;
      int chunk = 0;
    };
    std::vector<Stripe> stripes;
    std::size_t first_owner = 0;
    const Slot wires = next();
    for (auto& [ranks, parcels] : bundles_of(input, builder, stage)) {
      const auto& [owners, takers] = ranks;
      const CargoId cargo = builder.cargo(parcels);
      const GroupId group = builder.group(takers);
      for (std::size_t t = 0; t < takers.size(); ++t) {
        const auto chunk = static_cast<int>(t);
        const Rank owner = owners[(first_owner + t) % owners.size()];
        const OpId arrival = builder.transfer(wires, owner, takers[t], cargo, {chunk, chunk + 1});
        if (takers.size() > 1) stripes.push_back({arrival, takers[t], cargo, group, chunk});
      }
      first_owner += takers.size();
    }
    if (stripes.empty()) return;
    const int exchange_lane = nvlink_lane(stream);
    const Slot gather{exchange_lane, builder.next_round(exchange_lane)};
    for (const Stripe& s : stripes)
      builder.broadcast(gather, s.at, s.takers, s.cargo, {s.chunk, s.chunk + 1}, {s.arrival});
  });
}

}  // namespace refit
