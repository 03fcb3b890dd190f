#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit::test {

struct ClusterShape {
  int nodes = 2;
  int gpus_per_node = 8;
  int nvlink_domain_gpus = 8;
  int nics_per_node = 8;
  double nic_bytes_per_s = 50e9;
  double nic_latency_s = 0;
  double nvlink_bytes_per_s = 450e9;
  double nvlink_latency_s = 0;
  std::optional<double> pcie_bytes_per_s = std::nullopt;
  FabricSpec fabric = {};
};

inline Cluster make_cluster(const ClusterShape& shape) {
  NodeGroupSpec group;
  group.name = "test";
  group.nodes = shape.nodes;
  group.gpus_per_node = shape.gpus_per_node;
  group.nvlink_domain_gpus = shape.nvlink_domain_gpus;
  group.nvlink_bytes_per_s = shape.nvlink_bytes_per_s;
  group.nvlink_latency_s = shape.nvlink_latency_s;
  group.nics_per_node = shape.nics_per_node;
  group.nic_bytes_per_s = shape.nic_bytes_per_s;
  group.nic_latency_s = shape.nic_latency_s;
  group.pcie_bytes_per_s = shape.pcie_bytes_per_s;
  group.gpu_memory_bytes = 80e9;
  return Cluster({{group}, {shape.fabric}, {"here"}, {}});
}

// GPUs without NVLink, each with a NIC of its own: nothing but 50 GB/s ports.
inline Cluster lone_gpus(int gpus) {
  return make_cluster(
      {.nodes = gpus, .gpus_per_node = 1, .nvlink_domain_gpus = 1, .nics_per_node = 1});
}

struct Place {
  int lane = 0;
  int round = 0;
  std::vector<OpId> after = {};
  int phase = 0;
};

// Writes schedules op by op, without the planner's care: what the simulator reads, and no more.
class PlanWriter {
 public:
  explicit PlanWriter(int ranks, int lanes = 1) {
    schedule_.ranks = ranks;
    schedule_.lanes = lanes;
    schedule_.strategy = "test";
    schedule_.phases = {{"all", 0}};
  }

  void phases(std::vector<Phase> phases) { schedule_.phases = std::move(phases); }

  ParcelId parcel(std::vector<Rank> owners, std::vector<Rank> demanders, std::int64_t bytes) {
    Parcel parcel;
    parcel.owners = std::move(owners);
    parcel.demanders = std::move(demanders);
    parcel.bytes = bytes;
    schedule_.parcels.push_back(std::move(parcel));
    return ParcelId{static_cast<std::int64_t>(schedule_.parcels.size()) - 1};
  }
  CargoId cargo(std::vector<ParcelId> parcels) {
    schedule_.cargos.push_back({std::move(parcels)});
    return CargoId{static_cast<std::int64_t>(schedule_.cargos.size()) - 1};
  }
  GroupId group(std::vector<Rank> ranks, int width = 0) {
    const int one_ring = static_cast<int>(ranks.size());
    schedule_.groups.push_back({std::move(ranks), width == 0 ? one_ring : width});
    return GroupId{static_cast<std::int64_t>(schedule_.groups.size()) - 1};
  }

  OpId transfer(int src, int dst, double bytes, Place place = {}) {
    Op op;
    op.kind = OpKind::transfer;
    op.src = Rank{src};
    op.dst = Rank{dst};
    op.bytes = static_cast<std::int64_t>(bytes);
    return add(op, place);
  }
  OpId broadcast(int root, GroupId group, double bytes, Place place = {}) {
    Op op;
    op.kind = OpKind::broadcast;
    op.src = Rank{root};
    op.group = group;
    op.bytes = static_cast<std::int64_t>(bytes);
    return add(op, place);
  }
  OpId all_gather(GroupId group, CargoId cargo, double bytes, Place place = {}) {
    Op op;
    op.kind = OpKind::all_gather;
    op.group = group;
    op.cargo = cargo;
    op.bytes = static_cast<std::int64_t>(bytes);
    return add(op, place);
  }
  OpId compute(Work work, GroupId group, int count, double bytes, Place place = {}) {
    Op op;
    op.kind = OpKind::compute;
    op.work = work;
    op.group = group;
    op.count = count;
    op.bytes = static_cast<std::int64_t>(bytes);
    return add(op, place);
  }
  OpId barrier(GroupId group, Place place = {}) {
    Op op;
    op.kind = OpKind::barrier;
    op.group = group;
    return add(op, place);
  }

  const Schedule& schedule() const { return schedule_; }

 private:
  OpId add(Op op, const Place& place) {
    op.lane = static_cast<std::uint8_t>(place.lane);
    op.round = place.round;
    op.phase = static_cast<std::uint8_t>(place.phase);
    op.after_begin = static_cast<std::uint32_t>(schedule_.after.size());
    schedule_.after.insert(schedule_.after.end(), place.after.begin(), place.after.end());
    op.after_end = static_cast<std::uint32_t>(schedule_.after.size());
    schedule_.ops.push_back(op);
    return OpId{static_cast<std::int64_t>(schedule_.ops.size()) - 1};
  }

  Schedule schedule_;
};

inline std::vector<Rank> ranks(int begin, int end) {
  std::vector<Rank> list;
  for (int r = begin; r < end; ++r) list.emplace_back(r);
  return list;
}

}  // namespace refit::test
