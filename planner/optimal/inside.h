#pragma once

#include <cstdint>
#include <vector>

#include "planner/optimal/problem.h"

namespace refit {

// What ranks get from others of their own island. Seen from inside, every rank is an island of its
// own whose NIC is its NVLink port: the same swarm once more, for all islands at once.
struct Inside {
  PlanNetwork network;
  Assignment assignment;
  std::vector<std::int64_t> brought_by;  // by chunk: the wire op that brings it; -1: owned there
  SwarmResult swarm;
  // Chunks that come over wires are in the swarm, too, since NVLink is nearly full. Where it is
  // not, whom they come in at hands them to the island's others at once.
  bool hands_on = false;
};

// `bound_s`: what the whole is meant to take.
Inside solve_inside(const Solution& wires, double bound_s, const Setting& setting);

}  // namespace refit
