#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/detail/task_graph.h"

namespace refit::test {

// A task graph put together by hand, without a schedule and a cluster behind it.
class FlowGraphWriter {
 public:
  LinkId link(double bytes_per_s);
  PathId path(std::span<const PathLink> links);
  detail::TaskId task(PathId path, double bytes, double delay_s = 0,
                      std::span<const detail::TaskId> after = {});
  detail::TaskId task(PathId path, double bytes, double delay_s, detail::TaskId after) {
    return task(path, bytes, delay_s, std::span(&after, 1));
  }
  void change(double at_s, LinkId link, double bytes_per_s);

  double capacity(LinkId link) const { return graph_.paths.capacity_bytes_per_s[link.index()]; }
  const detail::TaskGraph& so_far() const { return graph_; }
  detail::TaskGraph finish();

 private:
  detail::TaskGraph graph_;
  std::vector<detail::Edge> edges_;
};

// GPUs with one NIC each on a fabric that never blocks, or on leaves whose cables to the spines do.
struct FabricShape {
  int gpus = 0;
  double nic_bytes_per_s = 50e9;
  int gpus_per_leaf = 0;  // 0: the fabric never blocks, so it has no links
  int spines = 0;
  double cable_bytes_per_s = 0;  // from a leaf to a spine, and back
};

// The ways through a fabric: out of a NIC, up to the spine that a hash of the pair names, down from
// it, and into a NIC.
class Fabric {
 public:
  Fabric(const FabricShape& shape, FlowGraphWriter& graph);

  PathId path(int src, int dst);
  // The links of that way, for those who want a path of their own.
  std::vector<PathLink> links(int src, int dst) const;

 private:
  FabricShape shape_;
  FlowGraphWriter& graph_;
  std::vector<LinkId> out_, in_;                     // by GPU
  std::vector<LinkId> up_, down_;                    // by leaf and spine
  std::unordered_map<std::uint64_t, PathId> paths_;  // by pair
};

// The lower half of the GPUs sends `rounds` times each, one after the other, to the upper half.
//
// Rounds of permutations: in round k sender i sends `bytes` to receiver i + k. Nobody shares a NIC.
detail::TaskGraph shifted_rounds(const FabricShape& shape, int rounds, double bytes);
// To receivers drawn at random, with sizes from 1 MB to 255 MB.
detail::TaskGraph random_m2n(const FabricShape& shape, int rounds, std::uint32_t seed);

enum class Traffic {
  burst,   // all at once
  chains,  // each sender's transfers to random receivers wait for one another
  m2n,     // each sender serves all its receivers in turn, two at a time
};

enum class Wires { non_blocking, clos, oversubscribed, uneven };

// What makes a case harder; each independent of the others.
struct Hardships {
  bool weights = false;       // a byte of a flow counts up to three times on some links
  bool caps = false;          // some flows have a link of their own, slower than the rest
  bool delays = false;        // between what a task waits for and its first byte
  bool failures = false;      // links fail; some come back
  bool rate_changes = false;  // links get slower and faster
};

// A small case with up to 20 transfers in a row: beyond, max-min sharing amplifies rounding to what
// can be seen (docs/network_model.md#chaos).
detail::TaskGraph random_flow_graph(std::uint32_t seed, Traffic traffic, Wires wires,
                                    const Hardships& hard);

}  // namespace refit::test
