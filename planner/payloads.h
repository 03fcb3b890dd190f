#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/strategies.h"

namespace refit {

// What object_store and relay_tree send: content of equal owners, cut in objects of about
// PlanOptions::payload_bytes.
//
//   bundle: all parcels of a stage with the same owners that the same domains lack
//   payload: chunk c of each parcel of a bundle, sent by one of the owners
//
// Whoever receives is a domain: one of its ranks takes the payload in, another one of each payload
// in turn, and hands it on by NVLink.
struct Bundle {
  int stage = 0;
  std::vector<Rank> owners;
  std::vector<ParcelId> parcels;
  std::int64_t bytes = 0;  // content
  int payloads = 1;
  struct Taker {
    DomainId domain;
    std::vector<Rank> ranks;  // that lack something of it, ascending
    std::map<std::vector<Rank>, std::vector<ParcelId>> parts;  // by who of them lacks it
  };
  std::vector<Taker> takers;  // by domain
};

// The bundles of a list of parcels, in a stable order. `everything`: every rank of a domain takes
// all content that any destination lacks.
std::vector<Bundle> bundles_of(const std::vector<Parcel>& parcels, const Refit& refit,
                               const Cluster& cluster, const PlanOptions& options, bool everything);
// Before a builder takes the parcels: in as many chunks as their bundle has payloads.
void cut_in_payloads(const Refit& refit, const Cluster& cluster, const PlanOptions& options,
                     bool everything, std::vector<Parcel>& parcels);

// One payload on its way.
struct Payload {
  const Bundle* bundle = nullptr;
  std::size_t number = 0;  // in the order in which they are sent
  CargoId cargo;
  int chunk = 0;
  Rank owner;
  std::vector<OpId> ready;  // the op that has coded it, if it is coded

  ChunkRange range() const { return {chunk, chunk + 1}; }
  std::int64_t share_of(std::int64_t bytes) const { return share(bytes, chunk, bundle->payloads); }
  // The rank that takes it in for a domain.
  Rank entry(const Bundle::Taker& taker) const { return taker.ranks[number % taker.ranks.size()]; }
};

// The lanes of a plan of payloads.
enum PayloadLane {
  kSourceLane,  // exports and coding on the sources, in rounds
  kOutLane,     // from owners: to the store, or over the border
  kInLane,      // from the store, or from domain to domain
  kHandLane,    // inside domains
  kLandLane,    // decoding and loading on the destinations, in rounds
  kPayloadLanes
};

// The payloads in sending order, exported and coded, each by the owner that has least to send.
std::vector<Payload> payloads_of(const StrategyInput& input, const std::vector<Bundle>& bundles,
                                 ScheduleBuilder& builder);

// What has come into domains is handed on, decoded and, at the end, applied.
class Landing {
 public:
  Landing(const StrategyInput& input, const std::vector<Bundle>& bundles, ScheduleBuilder& builder);

  // `arrival` has brought the payload to the taker's entry. In the order of the payloads.
  void arrives(const Payload& payload, const Bundle::Taker& taker, OpId arrival);
  void finish();

 private:
  struct Piece {                               // of what a domain decodes in one go
    std::vector<std::pair<OpId, Rank>> after;  // and who has something from it
    std::map<Rank, std::int64_t> bytes;
    std::int64_t tensors = 0;
    int payloads = 0;
  };
  void land(Piece& piece);
  void apply();

  const StrategyInput& input_;
  ScheduleBuilder& builder_;
  const int phase_;
  int payloads_per_piece_ = 1;
  std::vector<std::int64_t> stage_bytes_;
  std::map<DomainId, Piece> pieces_;
  std::map<Rank, std::int64_t> landed_;  // content that each rank keeps
};

}  // namespace refit
