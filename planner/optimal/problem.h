#pragma once

#include <vector>

#include "planner/optimal/assignment.h"
#include "planner/optimal/share_trunks.h"
#include "planner/optimal/swarm.h"

namespace refit {

// One way to run the planner.
struct Setting {
  double chunk_share = 0;  // of what the slowest NIC carries in the bound's time
  SwarmOptions swarm;
  int holders = 4;      // owners of a chunk that may send it
  bool proxies = true;  // NICs may work for neighbours, which takes memory and a lane
  bool demanders_send =
      false;             // neighbours that want a chunk are the first to send it for its owner
  int window_times = 1;  // what an end that comes late holds up may then start all the same
  TrunkPlaces places;    // without trunks, of all transfers as many as inside pods
};

// The wires between islands.
struct Problem {
  DomainClasses view;
  PlanNetwork network;
  FlowBound bound;
  std::vector<int> class_of_content;  // of the view
};

// `contents` are of these parcels.
Problem make_problem(const std::vector<Parcel>& parcels, const std::vector<Content>& contents,
                     const Cluster& cluster);

struct Solution {
  std::vector<Content> contents;  // in chunks
  PlanNetwork network;
  Assignment assignment;
  SwarmResult swarm;
};

Solution solve(const Problem& problem, std::vector<Content> contents, const Setting& setting);

}  // namespace refit
