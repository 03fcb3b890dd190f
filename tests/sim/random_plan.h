#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/sim/plans.h"

namespace refit::test {

struct RandomCase {
  Cluster cluster;
  Schedule schedule;
};

// Transfers, collectives, work and barriers in up to 5 rounds on 2 lanes, on 8 to 32 GPUs with
// shared or oversubscribed links. At most 10 ops depend on each other in a row: beyond some 20,
// rounding differences of max-min sharing grow into visible ones (docs/network_model.md#chaos).
class RandomPlan {
 public:
  explicit RandomPlan(std::uint32_t seed) : random_(seed) {}

  RandomCase make() {
    ClusterShape shape;
    shape.nodes = 2 + 2 * pick(2);
    shape.gpus_per_node = chance(0.5) ? 4 : 8;
    shape.nvlink_domain_gpus = shape.gpus_per_node;
    shape.nics_per_node = chance(0.5) ? shape.gpus_per_node : shape.gpus_per_node / 2;
    own_nics_ = shape.nics_per_node == shape.gpus_per_node;
    shape.nic_latency_s = chance(0.5) ? 5e-6 : 0;
    shape.nvlink_latency_s = chance(0.5) ? 2e-6 : 0;
    if (chance(0.3)) shape.fabric.nodes_per_leaf = 2;
    if (chance(0.5)) shape.fabric.oversubscription = 2;
    const Cluster cluster = make_cluster(shape);
    write_ops(cluster, shape.gpus_per_node);
    return {cluster, plan_->schedule()};
  }

 private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }
  // A few sizes come up often, so that flows end together.
  double bytes() {
    return chance(0.4) ? 64e6 : std::uniform_real_distribution<double>(1e6, 512e6)(random_);
  }

  void write_ops(const Cluster& cluster, int per_node) {
    const int gpus = cluster.gpus();
    plan_.emplace(gpus, 2);
    std::vector<int> level;  // by op: ops in a row, up to and with it
    std::vector<int> before(2, 0),
        current(2, 0);  // by lane: the longest row in earlier rounds, in this
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 2 * per_node; ++i) {
        const int lane = pick(2);
        Place place{.lane = lane, .round = round};
        int row = before[static_cast<std::size_t>(lane)] + 1;
        if (!level.empty() && chance(0.2)) {
          const int after = pick(static_cast<int>(level.size()));
          const int longer = std::max(row, level[static_cast<std::size_t>(after)] + 1);
          if (longer <= 10 - (4 - round)) {  // room for the rounds to come
            row = longer;
            place.after = {OpId{after}};
          }
        }
        write_op(gpus, per_node, place);
        level.push_back(row);
        current[static_cast<std::size_t>(lane)] =
            std::max(current[static_cast<std::size_t>(lane)], row);
      }
      before = current;
    }
  }

  void write_op(int gpus, int per_node, const Place& place) {
    const int kind = pick(10);
    if (kind <= 1) {
      const GroupId group = nodes(gpus, per_node);
      // Inside one node, or over shared NICs, or by a root that is alone in its node, a broadcast has
      // shares of 7/8 and 1 or 1/4.
      const std::vector<Rank>& members = plan_->schedule().groups[group.index()].ranks;
      const bool two_nodes = static_cast<int>(members.size()) > per_node;
      if (kind == 0 && two_nodes && own_nics_) {
        plan_->broadcast(0, group, whole(bytes()), place);
        return;
      }
      std::vector<ParcelId> parcels;
      for (const Rank rank : plan_->schedule().groups[group.index()].ranks) {
        parcels.push_back(plan_->parcel({rank}, ranks(0, gpus), 1000));
      }
      plan_->all_gather(group, plan_->cargo(parcels), whole(bytes()), place);
    } else if (kind == 2) {
      plan_->compute(Work::load, nodes(gpus, per_node), 1 + pick(4), 0, place);
    } else {
      const int src = pick(gpus);
      plan_->transfer(src, (src + 1 + pick(gpus - 1)) % gpus, bytes(), place);
    }
  }

  // One node's ranks, or two nodes': shares of their collectives are small multiples of each other.
  GroupId nodes(int gpus, int per_node) {
    const int first = pick(gpus / per_node);
    std::vector<Rank> list = ranks(first * per_node, (first + 1) * per_node);
    if (first > 0 && chance(0.5)) {
      for (const Rank rank : ranks(0, per_node)) list.push_back(rank);
    }
    return plan_->group(list);
  }

  static double whole(double bytes) { return std::floor(bytes / 1024) * 1024; }

  std::mt19937 random_;
  bool own_nics_ = true;
  std::optional<PlanWriter> plan_;
};

}  // namespace refit::test
