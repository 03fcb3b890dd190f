#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/refit.h"
#include "planner/plan.h"
#include "sim/network_model.h"
#include "topology/cluster.h"

namespace refit {

// The same machines with this bandwidth of every NIC, or of every WAN link.
Cluster with_bandwidth(const Cluster& cluster, LinkKind kind, double bytes_per_s);

// What is asked: which of these ways is fastest at which bandwidth and change rate.
struct CrossoverQuestion {
  const Refit& refit;
  const Cluster& cluster;
  PlanOptions plan;  // with `delta`, of which the rate is replaced
  NetworkModel network_model;
  std::vector<Policy> ways;
  LinkKind link = LinkKind::nic;    // nic or wan
  std::vector<double> bytes_per_s;  // ascending
  std::vector<double> changed;      // shares of all weights, ascending
};

// Where two ways take equally long, found by bisection between two places of the table, to 1 %.
struct Crossing {
  bool of_bandwidth = true;  // between two bandwidths; else between two change rates
  double bytes_per_s = 0, changed = 0;
  std::string below, above;  // the fastest on either side
  double seconds = 0;        // of both
};

struct Crossover {
  std::vector<std::string> ways;
  // [bandwidth][change rate][way]; and which way is the fastest, of equals the first.
  std::vector<std::vector<std::vector<double>>> seconds;
  std::vector<std::vector<std::size_t>> fastest;
  std::vector<Crossing> crossings;
};

// All from plans that are made and simulated for each place. Error(bad_input) if there is nothing
// to compare, or if the cluster has no such link.
Crossover find_crossover(const CrossoverQuestion& question);

}  // namespace refit
