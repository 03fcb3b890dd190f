#include "planner/payloads.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace refit {
namespace {

using Ranks = std::vector<Rank>;

// Owners that share a bundle get a payload each, if these are not smaller than this.
constexpr std::int64_t kLeastPayloadBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostPayloads = 4096;  // of a bundle: a parcel's most chunks
constexpr int kPieces = 16;                   // that a domain's decoding is cut into

int payload_count(const Bundle& bundle, const PlanOptions& options) {
  const auto in_parts_of = [&](std::int64_t bytes) { return (bundle.bytes + bytes - 1) / bytes; };
  const auto owners = static_cast<std::int64_t>(bundle.owners.size());
  const std::int64_t least = std::min(options.payload_bytes, kLeastPayloadBytes);
  const std::int64_t count =
      std::max(in_parts_of(options.payload_bytes), std::min(owners, bundle.bytes / least));
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, kMostPayloads));
}

// By domain, who of `ranks` does not own it.
std::map<DomainId, Ranks> lacking(const Ranks& ranks, const Ranks& owners, const Cluster& cluster) {
  Ranks others;
  std::set_difference(ranks.begin(), ranks.end(), owners.begin(), owners.end(),
                      std::back_inserter(others));
  std::map<DomainId, Ranks> domains;
  for (const Rank rank : others) domains[cluster.domain(rank)].push_back(rank);
  return domains;
}

// All ranks of a domain that lack some part.
Ranks all_of(const Bundle::Taker& taker) {
  Ranks all;
  for (const auto& [ranks, parcels] : taker.parts) all = united(all, ranks);
  return all;
}

}  // namespace

std::vector<Bundle> bundles_of(const std::vector<Parcel>& parcels, const Refit& refit,
                               const Cluster& cluster, const PlanOptions& options,
                               bool everything) {
  std::vector<Bundle> bundles;
  std::map<std::tuple<int, Ranks, std::vector<DomainId>>, std::size_t> numbers;
  for (std::size_t p = 0; p < parcels.size(); ++p) {
    const Parcel& parcel = parcels[p];
    if (takers_of(parcel).empty()) continue;
    const std::map<DomainId, Ranks> domains =
        lacking(everything ? refit.destinations : parcel.demanders, parcel.owners, cluster);
    std::vector<DomainId> keys;
    for (const auto& [domain, ranks] : domains) keys.push_back(domain);
    const auto [at, is_new] =
        numbers.try_emplace({parcel.stage, parcel.owners, keys}, bundles.size());
    if (is_new) {
      Bundle& bundle = bundles.emplace_back();
      bundle.stage = parcel.stage;
      bundle.owners = parcel.owners;
      for (const DomainId domain : keys) bundle.takers.push_back({domain, {}, {}});
    }
    Bundle& bundle = bundles[at->second];
    const ParcelId id(static_cast<std::int64_t>(p));
    bundle.parcels.push_back(id);
    bundle.bytes += parcel.bytes;
    auto taker = bundle.takers.begin();
    for (const auto& [domain, ranks] : domains) (taker++)->parts[ranks].push_back(id);
  }
  for (Bundle& bundle : bundles) {
    bundle.payloads = payload_count(bundle, options);
    for (Bundle::Taker& taker : bundle.takers) taker.ranks = all_of(taker);
  }
  return bundles;
}

void cut_in_payloads(const Refit& refit, const Cluster& cluster, const PlanOptions& options,
                     bool everything, std::vector<Parcel>& parcels) {
  for (const Bundle& bundle : bundles_of(parcels, refit, cluster, options, everything)) {
    for (const ParcelId id : bundle.parcels) parcels[id.index()].chunks = bundle.payloads;
  }
}

std::vector<Payload> payloads_of(const StrategyInput& input, const std::vector<Bundle>& bundles,
                                 ScheduleBuilder& builder) {
  const auto next = [&] { return Slot{kSourceLane, builder.next_round(kSourceLane)}; };
  std::vector<Payload> payloads;
  for (const Bundle& bundle : bundles) {
    const CargoId cargo = builder.cargo(bundle.parcels);
    for (int c = 0; c < bundle.payloads; ++c)
      payloads.push_back({&bundle, 0, cargo, c, bundle.owners.front(), {}});
  }
  // All bundles go side by side, so that all owners have something to send all the time.
  std::stable_sort(payloads.begin(), payloads.end(), [](const Payload& a, const Payload& b) {
    return std::int64_t{2 * a.chunk + 1} * b.bundle->payloads <
           std::int64_t{2 * b.chunk + 1} * a.bundle->payloads;
  });
  std::map<Rank, std::int64_t> load;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    Payload& payload = payloads[i];
    payload.number = i;
    payload.owner = *std::min_element(payload.bundle->owners.begin(), payload.bundle->owners.end(),
                                      [&](Rank a, Rank b) { return load[a] < load[b]; });
    load[payload.owner] += payload.share_of(payload.bundle->bytes);
  }

  builder.begin_phase("encode");
  for (int stage = 0; stage < input.refit.stages; ++stage) {
    const StageWork& work = input.work[static_cast<std::size_t>(stage)];
    if (work.calls == 0) continue;
    convert(kSourceLane, work.sources, work.convert_before, builder);
    if (!input.conduct.everything) continue;
    const GroupId trainers = builder.group(work.sources);
    if (input.conduct.exports)
      builder.compute(next(), Work::export_tensors, trainers, work.exports, 0);
    if (input.conduct.yields)
      builder.compute(next(), Work::yield, trainers, work.checkpoint_tensors, 0);
  }
  if (!builder.coding()) return payloads;
  std::map<Rank, int> rounds;  // owners don't wait for each other
  for (Payload& payload : payloads) {
    int& round = rounds.try_emplace(payload.owner, builder.next_round(kSourceLane)).first->second;
    const GroupId alone = builder.group({payload.owner});
    const std::int64_t bytes = payload.share_of(payload.bundle->bytes);
    builder.compute({kSourceLane, round++}, Work::scan, alone, 1, bytes);
    payload.ready = {builder.compute({kSourceLane, round++}, Work::encode, alone, 1, bytes)};
  }
  return payloads;
}

Landing::Landing(const StrategyInput& input, const std::vector<Bundle>& bundles,
                 ScheduleBuilder& builder)
    : input_(input),
      builder_(builder),
      phase_(builder.begin_phase("hand on")),
      stage_bytes_(static_cast<std::size_t>(input.refit.stages), 0) {
  int payloads = 0;
  for (const Bundle& bundle : bundles) {
    payloads += bundle.payloads;
    stage_bytes_[static_cast<std::size_t>(bundle.stage)] += bundle.bytes;
    for (const ParcelId id : bundle.parcels) {
      const Parcel& parcel = builder.parcels()[id.index()];
      for (const Rank rank : takers_of(parcel)) landed_[rank] += parcel.bytes;
    }
  }
  payloads_per_piece_ = std::max(1, payloads / kPieces);
  const std::vector<std::uint16_t> any(static_cast<std::size_t>(input.refit.ranks), 0);
  builder.set_window(kHandLane, {any, any});
}

void Landing::arrives(const Payload& payload, const Bundle::Taker& taker, OpId arrival) {
  builder_.continue_phase(phase_);
  const Rank entry = payload.entry(taker);
  Piece& piece = pieces_[taker.domain];
  piece.after.push_back({arrival, entry});
  for (const auto& [ranks, parcels] : taker.parts) {
    std::int64_t bytes = 0;
    for (const ParcelId id : parcels) bytes += builder_.parcels()[id.index()].bytes;
    for (const Rank rank : ranks) piece.bytes[rank] += payload.share_of(bytes);
    const CargoId cargo = builder_.cargo(parcels);
    for (const Rank rank : ranks) {
      if (rank == entry) continue;
      const OpId handed =
          builder_.transfer({kHandLane, 0}, entry, rank, cargo, payload.range(), {arrival});
      piece.after.push_back({handed, rank});
    }
  }
  const auto stage = static_cast<std::size_t>(payload.bundle->stage);
  const std::int64_t bytes = payload.share_of(payload.bundle->bytes);
  if (stage_bytes_[stage] > 0) {
    piece.tensors += static_cast<std::int64_t>(
        static_cast<double>(input_.work[stage].checkpoint_tensors) * static_cast<double>(bytes) /
        static_cast<double>(stage_bytes_[stage]));
  }
  if (++piece.payloads == payloads_per_piece_) land(piece);
}

void Landing::land(Piece& piece) {
  if (piece.payloads == 0) return;
  std::map<std::int64_t, Ranks> alike;
  for (const auto& [rank, bytes] : piece.bytes) alike[bytes].push_back(rank);
  const auto work = [&](Work kind, std::int64_t count, bool with_bytes) {
    const Slot slot{kLandLane, builder_.next_round(kLandLane)};
    for (const auto& [bytes, ranks] : alike) {
      std::vector<OpId> after;
      for (const auto& [op, rank] : piece.after)
        if (std::ranges::binary_search(ranks, rank)) after.push_back(op);
      builder_.compute(slot, kind, builder_.group(ranks), count, with_bytes ? bytes : 0, after);
    }
  };
  const Coding* coding = builder_.coding() ? &*builder_.coding() : nullptr;
  if (coding != nullptr) {
    work(Work::decode, piece.payloads, true);
    if (!coding->staged) work(Work::apply, piece.payloads, true);
  }
  if (input_.conduct.everything && input_.conduct.loads) work(Work::load, piece.tensors, false);
  piece = {};
}

void Landing::finish() {
  for (auto& [domain, piece] : pieces_) land(piece);
  if (builder_.coding() && builder_.coding()->staged) apply();
}

// Only when all has come; each rank what it keeps.
void Landing::apply() {
  builder_.barrier(builder_.group(united(input_.refit.sources, input_.refit.destinations)));
  builder_.begin_phase("apply");
  std::map<std::int64_t, Ranks> alike;
  for (const auto& [rank, bytes] : landed_) alike[bytes].push_back(rank);
  const int round = builder_.next_round(kLandLane);
  for (const auto& [bytes, ranks] : alike)
    builder_.compute({kLandLane, round}, Work::apply, builder_.group(ranks), 1, bytes);
}

}  // namespace refit
