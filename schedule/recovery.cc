#include "schedule/recovery.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedule/builder.h"

namespace refit {
namespace {

// One transfer to be: chunks of one parcel.
struct Need {
  ParcelId parcel;
  ChunkRange chunks;
};

}  // namespace

Recovery plan_recovery(const Schedule& original, const Refit& refit, const std::vector<bool>& lost,
                       const Holdings& holdings) {
  Recovery recovery;
  for (const Rank rank : refit.destinations) {
    if (lost[rank.index()]) recovery.dropped.push_back(rank);
  }

  std::vector<std::int64_t> load(static_cast<std::size_t>(original.ranks), 0);
  std::map<std::pair<Rank, Rank>, std::vector<Need>> needs;  // (holder, demander)
  std::set<std::string> unserved;
  for (std::size_t p = 0; p < original.parcels.size(); ++p) {
    const Parcel& parcel = original.parcels[p];
    const ParcelId id(static_cast<std::int64_t>(p));
    for (const Rank demander : parcel.demanders) {
      if (lost[demander.index()]) continue;
      if (std::binary_search(parcel.owners.begin(), parcel.owners.end(), demander)) continue;
      for (int chunk = 0; chunk < parcel.chunks; ++chunk) {
        if (holdings.has(id, demander, chunk)) continue;
        std::vector<Rank> holders;
        for (const Rank owner : parcel.owners) {
          if (!lost[owner.index()]) holders.push_back(owner);
        }
        for (const Rank other : parcel.demanders) {
          if (!lost[other.index()] && holdings.has(id, other, chunk)) holders.push_back(other);
        }
        if (holders.empty()) {
          for (const Fragment& fragment : parcel.fragments) {
            unserved.insert(refit.classes[fragment.tensor_class.index()].name);
          }
          continue;
        }
        const Rank holder = *std::min_element(holders.begin(), holders.end(), [&](Rank a, Rank b) {
          return std::pair(load[a.index()], a) < std::pair(load[b.index()], b);
        });
        load[holder.index()] += chunk_bytes(refit, parcel, chunk);
        std::vector<Need>& list = needs[{holder, demander}];
        if (!list.empty() && list.back().parcel == id && list.back().chunks.end == chunk) {
          list.back().chunks.end = chunk + 1;
        } else {
          list.push_back({id, {chunk, chunk + 1}});
        }
      }
    }
  }
  recovery.unserved.assign(unserved.begin(), unserved.end());

  ScheduleBuilder builder(refit, original.strategy + "+recovery", original.parcels, 1);
  builder.begin_phase("recovery");
  for (const auto& [pair, list] : needs) {
    for (const Need& need : list) {
      builder.transfer({0, 0}, pair.first, pair.second, builder.cargo({need.parcel}), need.chunks);
    }
  }
  recovery.schedule = std::move(builder).finish();
  return recovery;
}

}  // namespace refit
