#pragma once

#include <vector>

#include "planner/optimal/assignment.h"

namespace refit {

// How finely transfers divide what they share.
struct TrunkPlaces {
  int inside = 1;            // times as many transfers at a time inside pods
  int crossing = 1;          // times as many across trunks
  bool shared_sends = true;  // senders, too, have as many as their share of the trunk asks for,
  double equal_part = 1;     // and at least this part of an equal share
};

// Sets how many transfers each port behind a trunk has at a time, inside its pod and across the
// trunk. A trunk is shared by all flows alike, so their numbers are what divides it: in proportion
// to the bytes that each port has to move in `seconds`, which the whole is meant to take. More
// places divide it more finely, but let one sender hold up more receivers.
void share_trunks(const std::vector<Content>& contents, const Assignment& assignment,
                  double seconds, const TrunkPlaces& places, PlanNetwork& network);

}  // namespace refit
