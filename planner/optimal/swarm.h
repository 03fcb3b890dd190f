#pragma once

#include <vector>

#include "planner/optimal/assignment.h"
#include "planner/optimal/network.h"

namespace refit {

struct SwarmOptions {
  bool trunk_budgets = true;  // a trunk carries first copies before copies
  bool augment = true;        // a sender without a free receiver may take one from another sender
  int look = 24;              // chunks that nobody has yet, looked at per choice
  int scan = 64;              // receivers looked at per choice
  bool frugal = false;  // owners count first copies that they find late as copies: relays do more
  bool steal = true;    // an idle NIC may send what a busy one of its island owes
  int wakes = 12;       // idle senders woken when a receiver falls free
  int peers = 0;        // a rank exchanges bytes with so many others; 0: with any
  int offers = 0;       // a relay offers a chunk to so many islands; 0: to all that lack it
};

// A transfer between islands, in the order in which they start.
struct WireOp {
  Rank src, dst;
  std::uint32_t delivery = 0;
  std::int64_t after = -1;     // the wire op that brought the chunk to `src`; -1: had at the start
  std::int32_t via = kNobody;  // an owner in the island that hands it to `src` by NVLink first
  double start_s = 0, end_s = 0;
};

struct SwarmResult {
  std::vector<WireOp> ops;
  double end_s = 0;  // by the planner's own clock
  int depth = 0;     // longest chain of relays
};

// Chooses sender and time of every delivery as ports fall free: bytes that nobody has yet go first,
// to the receiver that has most left to get. Deterministic. `ready_s`: by chunk, when its holders
// have it; empty: all from the start.
SwarmResult run_swarm(const std::vector<Content>& contents, Assignment& assignment,
                      const PlanNetwork& network, double bound_s, const SwarmOptions& options = {},
                      const std::vector<double>& ready_s = {});

}  // namespace refit
