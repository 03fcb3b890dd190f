#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/optimal/assignment.h"
#include "planner/optimal/swarm_ports.h"

namespace refit {

// A delivery that some rank could make.
struct Offer {
  std::uint32_t delivery = 0;
  std::int32_t from = -1;  // wire op that brought the chunk there; -1: had at the start
};

// Everything that one rank could send to one receive port.
struct OfferBundle {
  int port = 0;
  std::vector<Offer> offers;
};

// Where a sender's bundle for a port is: asked so often, mostly in vain, that a node per port and
// its cache misses would be the swarm's slowest part. Open addressing, at most half full.
class BundleIndex {
 public:
  // -1: there is none.
  int find(int port, const std::vector<OfferBundle>& bundles) const;
  // The last of the bundles is new.
  void add_last(const std::vector<OfferBundle>& bundles);

 private:
  std::size_t first_slot(int port) const {
    return (static_cast<std::uint32_t>(port) * 2654435761U) >> shift_;
  }
  void insert(int port, std::int32_t bundle);

  std::vector<std::int32_t> slots_;  // places of bundles; -1: empty
  int shift_ = 32;                   // 32 bits less this number a slot
};

// What one rank could send.
struct Sender {
  std::vector<std::uint32_t> fresh;  // chunks that it owns, in the order of their turn
  std::size_t fresh_at = 0;          // those before have a copy on the way
  std::vector<OfferBundle> bundles;
  BundleIndex bundle_of_port;
  std::int64_t offered = 0;
  double first_copies_s = 0;  // that it still owes

  OfferBundle* bundle_to(std::size_t port);
  // Offer z of a bundle is somebody's already.
  void forget(OfferBundle& bundle, std::size_t z);
};

// Who offers what, and who is awake. Offers of deliveries that somebody else makes are dropped when
// they are come across, not before.
class SwarmOffers {
 public:
  // `ready_s`: by chunk, when its holders have it; empty: all from the start.
  SwarmOffers(const Assignment& plan, const SwarmPorts& ports, int ranks,
              const std::vector<double>& ready_s);

  Sender& of(int rank) { return senders_[static_cast<std::size_t>(rank)]; }
  int ranks() const { return static_cast<int>(senders_.size()); }

  void add(int rank, Offer offer);
  // A chunk has come to its holders.
  void add_fresh(std::uint32_t chunk);

  void wake(int rank);
  void wake_all();
  // Up to `most` ranks that have something for this receive port and nothing to do.
  void wake_for(std::size_t port, int most);
  // Those who look now: who owes most first copies first, then who has least choice. Nobody is
  // awake afterwards.
  std::vector<int> take_awake();

 private:
  void add_fresh_chunks(const std::vector<double>& ready_s);
  void add_fresh(std::uint32_t chunk, std::size_t holder);

  const Assignment& plan_;
  const SwarmPorts& ports_;
  std::vector<Sender> senders_;                               // by rank
  std::vector<std::uint8_t> is_awake_;                        // by rank: looks for work now
  std::vector<std::vector<std::pair<int, int>>> offered_to_;  // by receive port: rank, bundle
  std::vector<std::size_t> next_woken_;                       // by receive port
  std::vector<int> awake_;
};

}  // namespace refit
