#pragma once

#include <string>
#include <vector>

#include "models/refit.h"
#include "schedule/holdings.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// How a refit goes on after ranks were lost: the same parcels, only what is missing, from ranks
// that live. Nothing that a rank has already is sent again.
struct Recovery {
  Schedule schedule;          // transfers between survivors; may be empty of ops
  std::vector<Rank> dropped;  // destinations that are lost
  std::vector<std::string>
      unserved;  // tensors (first member's name) of which some bytes have no living holder
};

// What a domain lacks enters it once, from the holder (owner, or demander that has it) that has
// least to send so far, and goes on to the domain's others over NVLink; what is in the domain
// already comes from there. A rank sends and receives one network transfer at a time. Ties go to
// the smaller rank. Deterministic, so that survivors agree without a word.
Recovery plan_recovery(const Schedule& original, const Refit& refit, const Cluster& cluster,
                       const std::vector<bool>& lost, const Holdings& holdings);

}  // namespace refit
