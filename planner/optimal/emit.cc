#include "planner/optimal/emit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "planner/optimal/coding_work.h"
#include "planner/stage_work.h"
#include "planner/strategies.h"
#include "schedule/builder.h"

namespace refit {
namespace {

// Lanes.
constexpr int kWire = 0;
constexpr int kFanOut = 1;    // from where a chunk entered, to the island's others
constexpr int kPrologue = 2;  // what a NIC sends for a neighbour, in the order in which it does
constexpr int kTrunk = 3;     // over a wire that is shared behind the NIC
constexpr int kInside = 4;    // from owners to demanders of their own island
constexpr int kSoftware = 5;
constexpr int kCoding = 6;
constexpr int kLanes = 7;
constexpr std::uint16_t kPrologueWidth = 16;  // neighbours that are handed chunks at a time, twice
constexpr double kWindowLatencies = 8;        // of a WAN: it is idle a ninth of the time at most
constexpr std::uint16_t kWidestWindow = std::numeric_limits<std::uint16_t>::max();

class Emitter {
 public:
  Emitter(const Refit& refit, std::vector<Parcel> parcels, const EmitOptions& options)
      : refit_(refit),
        one_lane_(options.one_lane),
        coded_(options.delta != nullptr),
        times_(options.window_times),
        around_(options.around),
        world_ranks_(united(refit.sources, refit.destinations)),
        builder_(refit, coded_ ? "delta_reshard" : "optimal", std::move(parcels), kLanes) {
    builder_.set_caps(options.caps, options.ctas);
    if (!coded_) return;
    builder_.set_coding(options.delta->coding);
    shares_ = options.delta->shares;
  }

  Schedule run(const Solution& wires, const Inside& inside) {
    builder_.set_window(kWire, window(wires.network, PlanNetwork::inside));
    builder_.set_window(kTrunk, crossing_window(wires));
    builder_.set_window(kFanOut, same_window(0));
    builder_.set_window(kPrologue, same_window(kPrologueWidth));
    builder_.set_window(
        kInside, inside.hands_on ? window(inside.network, PlanNetwork::inside) : same_window(1));
    begin();
    builder_.begin_phase(coded_ ? "delta_reshard" : "optimal");
    for (const Content& content : wires.contents)
      cargos_.push_back(builder_.cargo(content.parcels));
    if (!inside.hands_on) set_owning_islands(wires);
    if (coded_) {
      work_.emplace(refit_, wires.contents, *builder_.coding(), kCoding, builder_);
      note_first_hand(wires, inside);
      work_->add_encoding();
    }
    for_each_op(
        wires, inside, [&](const WireOp& wire) { add_wire(wire, wires, !inside.hands_on); },
        [&](const WireOp& op) { add_inside(op, wires, inside); });
    if (coded_) work_->add_decoding(builder_.group(world_ranks_));
    land(kSoftware, refit_, std::vector<bool>(refit_.classes.size(), true), builder_, {}, shares_);
    end_refit(kSoftware, refit_, around_, builder_);
    return std::move(builder_).finish();
  }

 private:
  // In the order in which they start, or one lane for all of them would stand still.
  template <class OnWire, class OnInside>
  static void for_each_op(const Solution& wires, const Inside& inside, const OnWire& on_wire,
                          const OnInside& on_inside) {
    auto next = inside.swarm.ops.begin();
    const auto end = inside.swarm.ops.end();
    for (const WireOp& wire : wires.swarm.ops) {
      for (; next != end && next->start_s <= wire.start_s; ++next) on_inside(*next);
      on_wire(wire);
    }
    for (; next != end; ++next) on_inside(*next);
  }

  static const PlanChunk& chunk_of(const WireOp& op, const Assignment& assignment) {
    return assignment.chunks[assignment.deliveries[op.delivery].chunk];
  }

  // Who sends something that it has not been sent has coded it.
  static Rank coder(const WireOp& wire) { return wire.via != kNobody ? Rank(wire.via) : wire.src; }
  static bool is_first_hand(const WireOp& op, const Inside& inside) {
    return op.after < 0 && inside.brought_by[inside.assignment.deliveries[op.delivery].chunk] < 0;
  }

  void note_first_hand(const Solution& wires, const Inside& inside) {
    for_each_op(
        wires, inside,
        [&](const WireOp& wire) {
          if (wire.after >= 0) return;
          const PlanChunk& chunk = chunk_of(wire, wires.assignment);
          work_->will_send(coder(wire), chunk.content, chunk.index);
        },
        [&](const WireOp& op) {
          if (!is_first_hand(op, inside)) return;
          const PlanChunk& chunk = chunk_of(op, inside.assignment);
          work_->will_send(op.src, chunk.content, chunk.index);
        });
  }

  void set_owning_islands(const Solution& wires) {
    for (const Content& content : wires.contents) {
      std::vector<int>& islands = owning_islands_.emplace_back();
      for (const Rank owner : *content.owners)
        islands.push_back(wires.network.island[owner.index()]);
      std::sort(islands.begin(), islands.end());
      islands.erase(std::unique(islands.begin(), islands.end()), islands.end());
    }
  }

  // A transfer of a chunk, and what its receiver has to do with it.
  OpId send(int lane, Rank src, Rank dst, const PlanChunk& chunk, const Solution& wires,
            const std::vector<OpId>& after) {
    const auto c = static_cast<std::size_t>(chunk.content);
    const OpId arrival =
        builder_.transfer(on(lane), src, dst, cargos_[c], {chunk.index, chunk.index + 1}, after);
    const std::vector<Rank>& demanders = *wires.contents[c].demanders;
    if (coded_ && std::binary_search(demanders.begin(), demanders.end(), dst))
      work_->arrives(dst, chunk.content, chunk.index, arrival);
    return arrival;
  }

  std::uint16_t places(int slots) const {
    return static_cast<std::uint16_t>(std::min<int>(slots * times_, kWidestWindow));
  }

  LaneWindow window(const PlanNetwork& network, PlanNetwork::Way way) const {
    LaneWindow window;
    for (std::size_t r = 0; r < static_cast<std::size_t>(refit_.ranks); ++r) {
      if (r >= network.send_port.size()) {  // a store, which sends and receives nothing
        window.send.push_back(1);
        window.receive.push_back(1);
        continue;
      }
      const auto send = static_cast<std::size_t>(network.send_port[r]);
      const auto receive = static_cast<std::size_t>(network.receive_port[r]);
      window.send.push_back(places(network.send_ports[send].slots[way]));
      window.receive.push_back(places(network.receive_ports[receive].slots[way]));
    }
    return window;
  }

  // A transfer over a WAN waits for its first byte, and those of a window nearly all at the same
  // time. So many are under way at a time that the bytes of a window take long beside that.
  LaneWindow crossing_window(const Solution& wires) const {
    const PlanNetwork& network = wires.network;
    LaneWindow result = window(network, PlanNetwork::crossing);
    if (network.crossing_latency_s <= 0) return result;
    std::vector<double> bytes_to_pod(network.trunks_in.size(), 0);
    std::vector<std::size_t> chunks_to_pod(network.trunks_in.size(), 0);
    std::vector<std::set<Rank>> senders(network.trunks_in.size()), receivers = senders;
    for (const WireOp& op : wires.swarm.ops) {
      if (network.way(op.src, op.dst) != PlanNetwork::crossing) continue;
      const int to = network.pod[op.dst.index()];
      if (to < 0) continue;
      const auto pod = static_cast<std::size_t>(to);
      bytes_to_pod[pod] += chunk_of(op, wires.assignment).bytes;
      ++chunks_to_pod[pod];
      senders[pod].insert(op.src);
      receivers[pod].insert(op.dst);
    }
    for (std::size_t pod = 0; pod < bytes_to_pod.size(); ++pod) {
      if (chunks_to_pod[pod] == 0) continue;
      const double seconds = kWindowLatencies * network.crossing_latency_s;
      const double waiting = network.trunks_in[pod].bytes_per_s * seconds / bytes_to_pod[pod] *
                             static_cast<double>(chunks_to_pod[pod]);
      widen(result.send, senders[pod], waiting);
      widen(result.receive, receivers[pod], waiting);
    }
    return result;
  }

  static void widen(std::vector<std::uint16_t>& windows, const std::set<Rank>& ranks,
                    double transfers) {
    const double each = std::ceil(transfers / static_cast<double>(ranks.size()));
    for (const Rank rank : ranks)
      windows[rank.index()] =
          static_cast<std::uint16_t>(std::min(windows[rank.index()] + each, double{kWidestWindow}));
  }

  LaneWindow same_window(std::uint16_t width) const {
    const auto ranks = static_cast<std::size_t>(refit_.ranks);
    return {std::vector<std::uint16_t>(ranks, width), std::vector<std::uint16_t>(ranks, width)};
  }

  void add_wire(const WireOp& wire, const Solution& solution, bool fan_out) {
    const PlanNetwork& network = solution.network;
    const PlanDelivery& delivery = solution.assignment.deliveries[wire.delivery];
    const PlanChunk& chunk = solution.assignment.chunks[delivery.chunk];
    std::vector<OpId> after;
    if (wire.after >= 0) {
      after.push_back(op_of_wire_[static_cast<std::size_t>(wire.after)]);
    } else {
      if (coded_) after.push_back(work_->encoded(coder(wire), chunk.content, chunk.index));
      if (wire.via != kNobody) {
        const auto [at, is_new] = prologues_.try_emplace({delivery.chunk, wire.src}, OpId{});
        if (is_new) at->second = send(kPrologue, Rank(wire.via), wire.src, chunk, solution, after);
        after = {at->second};
      }
    }
    const bool crosses = network.way(wire.src, wire.dst) == PlanNetwork::crossing;
    const OpId arrival = send(crosses ? kTrunk : kWire, wire.src, wire.dst, chunk, solution, after);
    op_of_wire_.push_back(arrival);
    if (!fan_out || delivery.alone) return;
    const int island = network.island[wire.dst.index()];
    const Content& content = solution.contents[static_cast<std::size_t>(chunk.content)];
    const std::vector<int>& owning = owning_islands_[static_cast<std::size_t>(chunk.content)];
    if (std::binary_search(owning.begin(), owning.end(), island)) return;  // add_inside hands it on
    for (const Rank rank : *content.demanders) {
      if (rank == wire.dst || network.island[rank.index()] != island) continue;
      if (solution.assignment.enters_alone(chunk, rank)) continue;
      send(kFanOut, wire.dst, rank, chunk, solution, {arrival});
    }
  }

  void add_inside(const WireOp& op, const Solution& wires, const Inside& inside) {
    const PlanChunk& chunk = chunk_of(op, inside.assignment);
    const std::int64_t brought_by =
        inside.brought_by[inside.assignment.deliveries[op.delivery].chunk];
    std::vector<OpId> after;
    if (op.after >= 0) {
      after.push_back(op_of_inside_[static_cast<std::size_t>(op.after)]);
    } else if (brought_by >= 0) {
      after.push_back(op_of_wire_[static_cast<std::size_t>(brought_by)]);
    } else if (coded_) {
      after.push_back(work_->encoded(op.src, chunk.content, chunk.index));
    }
    op_of_inside_.push_back(send(kInside, op.src, op.dst, chunk, wires, after));
  }

  // Software before the transfers, as every strategy has it.
  void begin() {
    const GroupId world = builder_.group(world_ranks_);
    begin_refit(kSoftware, refit_, around_, true, builder_);
    const std::vector<bool> all(refit_.classes.size(), true);
    for (const StageWork& work : stage_work(refit_, all, shares_)) {
      if (work.calls == 0) continue;
      convert(kSoftware, work.sources, work.convert_before, builder_);
      if (coded_ && work.stacked_calls == 0) continue;
      builder_.compute({kSoftware, builder_.next_round(kSoftware)}, Work::stack,
                       builder_.group(work.sources), work.stacked_calls, 0);
    }
    builder_.barrier(world);
  }

  Slot on(int lane) const { return {one_lane_ ? kWire : lane, 0}; }

  const Refit& refit_;
  const bool one_lane_, coded_;
  const int times_;
  const Around around_;
  const std::vector<Rank> world_ranks_;
  ScheduleBuilder builder_;
  std::span<const double> shares_;                // of each class, what travels; empty: all
  std::vector<CargoId> cargos_;                   // by content
  std::vector<std::vector<int>> owning_islands_;  // by content, if wires fan out
  std::vector<OpId> op_of_wire_, op_of_inside_;   // by op of the swarms
  std::optional<CodingWork> work_;                // if it is coded
  std::map<std::pair<std::uint32_t, Rank>, OpId> prologues_;  // by chunk and who is to have it
};

// Lanes without ops would only cost communicators.
void drop_unused_lanes(Schedule& schedule) {
  std::vector<int> number(static_cast<std::size_t>(schedule.lanes), -1);
  for (const Op& op : schedule.ops) number[op.lane] = 0;
  int used = 0;
  std::vector<LaneWindow> windows;
  for (std::size_t lane = 0; lane < number.size(); ++lane) {
    if (number[lane] < 0) continue;
    number[lane] = used++;
    windows.push_back(std::move(schedule.windows[lane]));
  }
  for (Op& op : schedule.ops) op.lane = static_cast<std::uint8_t>(number[op.lane]);
  schedule.lanes = used;
  schedule.windows = std::move(windows);
}

}  // namespace

Schedule emit(const Refit& refit, std::vector<Parcel> parcels, const Solution& wires,
              const Inside& inside, const EmitOptions& options) {
  for (const Content& content : wires.contents) {
    for (const ParcelId id : content.parcels) parcels[id.index()].chunks = content.chunks;
  }
  Schedule schedule = Emitter(refit, std::move(parcels), options).run(wires, inside);
  drop_unused_lanes(schedule);
  return schedule;
}

}  // namespace refit
