#pragma once

#include <string>
#include <vector>

#include "topology/cluster.h"
#include "topology/link.h"

namespace refit {

struct M2nBench;
struct NcclSweep;

// Times of one program, with what the network model's constants have to do with them:
//
//   seconds = calls * call + wire_s / efficiency of the link
struct MeasuredSeries {
  struct Point {
    std::string label;   // "64 MiB"
    double bytes = 0;    // in the order of a sweep
    double seconds = 0;  // measured
    double calls = 0;    // transport calls in a row, each times log2 of its ranks
    double wire_s = 0;   // of the busiest link, at its line rate
  };

  std::string file;   // base name
  std::string title;  // "all_reduce, 16 ranks on 2 hosts"
  LinkKind link = LinkKind::nic;
  std::string not_told;  // why the link's efficiency can't be read from the times; empty: it can
  // Message sizes from small to large: between the floor and the plateau NCCL changes protocols,
  // and no straight line holds.
  bool is_sweep = false;
  std::vector<Point> points;
};

// Which link limits, and how long it would take at its line rate, in a cluster of such nodes.
// Error(bad_input) if the nodes have no such link or too few GPUs.
MeasuredSeries series_of(const NcclSweep& sweep, const NodeGroupSpec& nodes);
MeasuredSeries series_of(const M2nBench& bench, const NodeGroupSpec& nodes);

// Without folders, and with '?' for what can't stand in a comment.
std::string base_name(const std::string& path);

}  // namespace refit
