#include "planner/optimal/optimal.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "planner/optimal/assignment.h"
#include "planner/optimal/swarm.h"
#include "planner/stage_work.h"
#include "planner/strategies.h"
#include "schedule/builder.h"
#include "sim/predict.h"

namespace refit {
namespace {

constexpr int kWireLane = 0;
constexpr int kNvlinkLane = 1;    // from where a chunk entered, to the island's others
constexpr int kPrologueLane = 2;  // what a NIC sends for a neighbour, in the order in which it does
constexpr int kTrunkLane = 3;     // over a wire that is shared behind the NIC
constexpr int kLanes = 4;
constexpr std::uint16_t kPrologueWidth = 2;

constexpr std::int64_t kLeastChunkBytes = 256 << 10;
constexpr double kGoodEnough = 1.005;
constexpr std::size_t kManyDeliveries = 400'000;  // above: one setting, and a cheaper search

// One way to run the planner.
struct Setting {
  double chunk_share;  // of what the slowest NIC carries in the bound's time
  SwarmOptions swarm;
  int holders = 4;  // owners of a chunk that may send it
};

std::vector<Setting> settings(bool large, bool trunks) {
  SwarmOptions thorough;
  SwarmOptions cheap;
  cheap.augment = false;
  cheap.look = 6;
  cheap.scan = 16;
  cheap.wakes = 4;
  cheap.offers = 6;
  if (large) return {{0.01, cheap, 2}};
  std::vector<Setting> settings{{0.003, thorough}, {0.001, thorough}, {0.003, cheap}};
  if (trunks) {
    thorough.trunk_budgets = false;
    settings.push_back({0.003, thorough});
  }
  return settings;
}

struct Plan {
  PlanNetwork network;
  std::vector<Content> contents;
  Assignment assignment;
  SwarmResult swarm;
};

class Planner {
 public:
  Planner(const Refit& refit, const Cluster& cluster)
      : refit_(refit),
        cluster_(cluster),
        parcels_(find_parcels(refit)),
        contents_(group_contents(parcels_)),
        view_(domain_classes(parcels_, cluster)),
        network_(plan_network(cluster, view_)),
        bound_(flow_bound(parcels_, cluster, view_)) {
    for (const Content& content : contents_)
      class_of_content_.push_back(view_.of_parcel[content.parcels.front().index()]);
  }

  // The best of a few settings, by simulation where that is cheap beside planning.
  Schedule best() {
    std::optional<Schedule> best;
    double best_s = std::numeric_limits<double>::infinity();
    const bool large = deliveries(0.003) > kManyDeliveries;
    for (const Setting& setting : settings(large, network_.has_trunks())) {
      Schedule schedule = emit(make(setting));
      if (large) return schedule;
      const double seconds = predict(schedule, cluster_).makespan_s;
      if (seconds < best_s) {
        best_s = seconds;
        best = std::move(schedule);
      }
      if (best_s <= bound_.seconds * kGoodEnough) break;
    }
    return std::move(*best);
  }

 private:
  std::int64_t chunk_bytes(double share) const {
    double slowest = std::numeric_limits<double>::infinity();
    for (const PlanNetwork::Port& port : network_.receive_ports)
      slowest = std::min(slowest, port.bytes_per_s / port.slots[PlanNetwork::inside]);
    return std::max(kLeastChunkBytes, static_cast<std::int64_t>(share * bound_.seconds * slowest));
  }

  std::size_t deliveries(double share) const {
    const std::int64_t bytes = chunk_bytes(share);
    std::size_t count = 0;
    for (std::size_t c = 0; c < contents_.size(); ++c) {
      const auto k = static_cast<std::size_t>(class_of_content_[c]);
      const auto chunks = static_cast<std::size_t>((contents_[c].bytes + bytes - 1) / bytes);
      count += chunks * view_.classes[k].needers.size();
    }
    return count;
  }

  std::vector<Content> chunked(double share) const {
    std::vector<Content> contents = contents_;
    set_chunks(refit_, parcels_, chunk_bytes(share), contents);
    return contents;
  }

  Plan make(const Setting& setting) const {
    Plan plan;
    plan.contents = chunked(setting.chunk_share);
    plan.network = network_;
    plan.assignment =
        assign({plan.contents, class_of_content_, view_, bound_, setting.holders}, network_);
    if (network_.has_trunks())
      share_trunks(plan.contents, plan.assignment, bound_.seconds, plan.network);
    plan.swarm = run_swarm(plan.assignment, plan.network, bound_.seconds, setting.swarm);
    return plan;
  }

  LaneWindow wire_window(const PlanNetwork& network, PlanNetwork::Way way) const {
    LaneWindow window;
    for (std::size_t r = 0; r < static_cast<std::size_t>(refit_.ranks); ++r) {
      const auto send = static_cast<std::size_t>(network.send_port[r]);
      const auto receive = static_cast<std::size_t>(network.receive_port[r]);
      window.send.push_back(static_cast<std::uint16_t>(network.send_ports[send].slots[way]));
      window.receive.push_back(
          static_cast<std::uint16_t>(network.receive_ports[receive].slots[way]));
    }
    return window;
  }

  LaneWindow same_window(std::uint16_t width) const {
    const auto ranks = static_cast<std::size_t>(refit_.ranks);
    return {std::vector<std::uint16_t>(ranks, width), std::vector<std::uint16_t>(ranks, width)};
  }

  Schedule emit(const Plan& plan) const {
    std::vector<Parcel> parcels = parcels_;
    for (const Content& content : plan.contents) {
      for (const ParcelId id : content.parcels) parcels[id.index()].chunks = content.chunks;
    }
    ScheduleBuilder builder(refit_, "optimal", std::move(parcels), kLanes + 1);
    builder.set_window(kWireLane, wire_window(plan.network, PlanNetwork::inside));
    builder.set_window(kTrunkLane, wire_window(plan.network, PlanNetwork::crossing));
    builder.set_window(kNvlinkLane, same_window(0));
    builder.set_window(kPrologueLane, same_window(kPrologueWidth));
    begin(builder);
    builder.begin_phase("optimal");
    std::vector<CargoId> cargos;
    for (const Content& content : plan.contents) cargos.push_back(builder.cargo(content.parcels));
    for (const Assignment::Local& local : plan.assignment.locals) {
      const auto c = static_cast<std::size_t>(local.content);
      builder.transfer({kNvlinkLane, 0}, local.src, local.dst, cargos[c],
                       {0, plan.contents[c].chunks});
    }
    add_wire(plan, cargos, builder);
    end(builder);
    return std::move(builder).finish();
  }

  void add_wire(const Plan& plan, const std::vector<CargoId>& cargos,
                ScheduleBuilder& builder) const {
    std::vector<OpId> op_of_wire;
    std::vector<std::int32_t> prologue(plan.assignment.chunks.size(), -1);
    for (const WireOp& wire : plan.swarm.ops) {
      const std::uint32_t number = plan.assignment.deliveries[wire.delivery].chunk;
      const PlanChunk& chunk = plan.assignment.chunks[number];
      const Content& content = plan.contents[static_cast<std::size_t>(chunk.content)];
      const CargoId cargo = cargos[static_cast<std::size_t>(chunk.content)];
      const ChunkRange range{chunk.index, chunk.index + 1};
      std::vector<OpId> after;
      if (wire.after >= 0) {
        after.push_back(op_of_wire[static_cast<std::size_t>(wire.after)]);
      } else if (chunk.proxied_by != kNobody &&
                 wire.src.value == plan.assignment.holders_of(chunk).front()) {
        if (prologue[number] < 0) {
          prologue[number] =
              builder.transfer({kPrologueLane, 0}, Rank(chunk.proxied_by), wire.src, cargo, range)
                  .value;
        }
        after.push_back(OpId(prologue[number]));
      }
      const bool crosses = network_.way(wire.src, wire.dst) == PlanNetwork::crossing;
      const OpId arrival = builder.transfer({crosses ? kTrunkLane : kWireLane, 0}, wire.src,
                                            wire.dst, cargo, range, after);
      op_of_wire.push_back(arrival);
      const int island = network_.island[wire.dst.index()];
      for (const Rank rank : *content.demanders) {
        if (rank == wire.dst || network_.island[rank.index()] != island) continue;
        builder.transfer({kNvlinkLane, 0}, wire.dst, rank, cargo, range, {arrival});
      }
    }
  }

  // Software before and after the transfers, as every strategy has it.
  void begin(ScheduleBuilder& builder) const {
    const GroupId world = builder.group(united(refit_.sources, refit_.destinations));
    builder.begin_phase("start");
    builder.compute({kLanes, 0}, Work::fixed, world, 1, 0);
    builder.barrier(world);
    const std::vector<bool> all(refit_.classes.size(), true);
    for (const StageWork& work : stage_work(refit_, all)) {
      if (work.calls == 0) continue;
      convert(kLanes, work.sources, work.convert_before, builder);
      builder.compute({kLanes, builder.next_round(kLanes)}, Work::stack,
                      builder.group(work.sources), work.stacked_matrices, 0);
    }
    builder.barrier(world);
  }

  void end(ScheduleBuilder& builder) const {
    const GroupId world = builder.group(united(refit_.sources, refit_.destinations));
    builder.barrier(world);
    builder.begin_phase("land");
    const std::vector<bool> all(refit_.classes.size(), true);
    builder.compute({kLanes, builder.next_round(kLanes)}, Work::land,
                    builder.group(refit_.destinations), 1, landed_bytes(refit_, all));
    convert(kLanes, refit_.destinations, convert_work(refit_, all, EdgeSide::destination), builder);
    builder.barrier(world);
  }

  const Refit& refit_;
  const Cluster& cluster_;
  std::vector<Parcel> parcels_;
  std::vector<Content> contents_;  // not in chunks yet
  DomainClasses view_;
  PlanNetwork network_;
  FlowBound bound_;
  std::vector<int> class_of_content_;
};

}  // namespace

Schedule plan_optimal(const Refit& refit, const Cluster& cluster) {
  return Planner(refit, cluster).best();
}

}  // namespace refit
