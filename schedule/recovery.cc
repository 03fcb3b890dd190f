#include "schedule/recovery.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "schedule/builder.h"

namespace refit {
namespace {

constexpr int kNetworkLane = 0;
constexpr int kNvlinkLane = 1;

// Pieces of a parcel at most: enough that a relay hands on while it receives.
constexpr int kMostPieces = 16;

// Who holds and who lacks some chunks.
struct Standing {
  std::vector<Rank> holders;
  std::vector<Rank> missing;

  friend bool operator==(const Standing&, const Standing&) = default;
};

class RecoveryPlanner {
 public:
  RecoveryPlanner(const Schedule& original, const Refit& refit, const Cluster& cluster,
                  const std::vector<bool>& lost, const Holdings& holdings)
      : refit_(refit),
        cluster_(cluster),
        lost_(lost),
        holdings_(holdings),
        builder_(refit, original.strategy + "+recovery", original.parcels, 2),
        ports_{std::vector<Port>(static_cast<std::size_t>(original.ranks)),
               std::vector<Port>(static_cast<std::size_t>(original.ranks))} {
    if (original.coding) builder_.set_coding(*original.coding);
    builder_.begin_phase("recovery");
  }

  void add(ParcelId id) {
    const Parcel& parcel = builder_.parcels()[id.index()];
    const int longest = (parcel.chunks + kMostPieces - 1) / kMostPieces;
    int begin = 0;
    Standing standing = standing_at(id, parcel, 0);
    for (int chunk = 1; chunk <= parcel.chunks; ++chunk) {
      Standing next = chunk < parcel.chunks ? standing_at(id, parcel, chunk) : Standing{};
      if (chunk < parcel.chunks && chunk - begin < longest && next == standing) continue;
      serve(id, parcel, {begin, chunk}, standing);
      begin = chunk;
      standing = std::move(next);
    }
  }

  Recovery finish() && {
    Recovery recovery;
    for (const Rank rank : refit_.destinations) {
      if (lost_[rank.index()]) recovery.dropped.push_back(rank);
    }
    recovery.unserved.assign(unserved_.begin(), unserved_.end());
    recovery.schedule = std::move(builder_).finish();
    return recovery;
  }

 private:
  // What a rank does on one lane so far.
  struct Port {
    std::int64_t sent_bytes = 0;
    std::int64_t received_bytes = 0;
    int next_round = 0;
  };

  Standing standing_at(ParcelId id, const Parcel& parcel, int chunk) const {
    Standing standing;
    for (const Rank owner : parcel.owners) {
      if (!lost_[owner.index()]) standing.holders.push_back(owner);
    }
    for (const Rank demander : parcel.demanders) {
      if (lost_[demander.index()]) continue;
      if (std::binary_search(parcel.owners.begin(), parcel.owners.end(), demander)) continue;
      const bool has = holdings_.has(id, demander, chunk);
      (has ? standing.holders : standing.missing).push_back(demander);
    }
    return standing;
  }

  void serve(ParcelId id, const Parcel& parcel, ChunkRange chunks, const Standing& standing) {
    if (standing.missing.empty()) return;
    if (standing.holders.empty()) {
      for (const Fragment& fragment : parcel.fragments) {
        unserved_.insert(refit_.classes[fragment.tensor_class.index()].name);
      }
      return;
    }
    std::map<DomainId, std::vector<Rank>> missing;
    for (const Rank rank : standing.missing) missing[cluster_.domain(rank)].push_back(rank);
    for (const auto& [domain, ranks] : missing) {
      std::vector<Rank> near;
      for (const Rank holder : standing.holders) {
        if (cluster_.domain(holder) == domain) near.push_back(holder);
      }
      if (!near.empty()) {
        for (const Rank rank : ranks) {
          send(kNvlinkLane, least(near, kNvlinkLane, &Port::sent_bytes), rank, id, parcel, chunks,
               {});
        }
        continue;
      }
      const Rank entry = least(ranks, kNetworkLane, &Port::received_bytes);
      const OpId arrival =
          send(kNetworkLane, least(standing.holders, kNetworkLane, &Port::sent_bytes), entry, id,
               parcel, chunks, {});
      for (const Rank rank : ranks) {
        if (rank != entry) send(kNvlinkLane, entry, rank, id, parcel, chunks, {arrival});
      }
    }
  }

  Rank least(const std::vector<Rank>& ranks, int lane, std::int64_t Port::*load) const {
    const std::vector<Port>& ports = ports_[lane];
    return *std::min_element(ranks.begin(), ranks.end(), [&](Rank a, Rank b) {
      return std::pair(ports[a.index()].*load, a) < std::pair(ports[b.index()].*load, b);
    });
  }

  OpId send(int lane, Rank src, Rank dst, ParcelId id, const Parcel& parcel, ChunkRange chunks,
            const std::vector<OpId>& after) {
    Port& from = ports_[lane][src.index()];
    Port& to = ports_[lane][dst.index()];
    for (int chunk = chunks.begin; chunk < chunks.end; ++chunk) {
      const std::int64_t bytes = chunk_wire_bytes(refit_, parcel, chunk);
      from.sent_bytes += bytes;
      to.received_bytes += bytes;
    }
    const int round = std::max(from.next_round, to.next_round);
    from.next_round = to.next_round = round + 1;
    return builder_.transfer({lane, round}, src, dst, builder_.cargo({id}), chunks, after);
  }

  const Refit& refit_;
  const Cluster& cluster_;
  const std::vector<bool>& lost_;
  const Holdings& holdings_;
  ScheduleBuilder builder_;
  std::vector<Port> ports_[2];  // by lane, by rank
  std::set<std::string> unserved_;
};

}  // namespace

Recovery plan_recovery(const Schedule& original, const Refit& refit, const Cluster& cluster,
                       const std::vector<bool>& lost, const Holdings& holdings) {
  RecoveryPlanner planner(original, refit, cluster, lost, holdings);
  for (std::size_t p = 0; p < original.parcels.size(); ++p) {
    planner.add(ParcelId(static_cast<std::int64_t>(p)));
  }
  return std::move(planner).finish();
}

}  // namespace refit
