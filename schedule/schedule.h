#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "models/coding.h"
#include "models/parcels.h"
#include "topology/cluster.h"

namespace refit {

enum class OpKind {
  transfer,    // src -> dst: the cargo's chunks [chunk_begin, chunk_end)
  all_gather,  // every rank of the group ends with the cargo that its owners contribute
  broadcast,   // src is the root and has the cargo; every rank of the group ends with it
  compute,     // every rank of the group works on the cargo: export, pack, stack, load, …
  barrier,     // no rank of the group goes on, on any lane, before all have come here
};

// What a compute op does, or how a broadcast goes; its cost comes from a network model, not from
// the schedule.
enum class Work {
  none,
  export_tensors,
  pack,
  stack,
  call,
  land,
  load,
  fixed,
  convert,
  yield,
  assemble,
  host,
  pull,
  pause,     // engines stop before the first byte
  resume,    // and go on after the last
  describe,  // names, types and shapes are told to engines
  scan,      // weights compared with their last version
  encode,    // what was found, written down
  decode,    // and read again
  apply,     // old weights changed to new ones
  stream,    // of a broadcast: one stream of whole tensors, not cut into frames that are pipelined
};

std::string_view to_string(OpKind kind);
std::string_view to_string(Work work);

// One step of a plan. Ops are in an order that is safe to run one by one.
struct Op {
  OpKind kind = OpKind::transfer;
  Work work = Work::none;  // of compute ops; of broadcasts: none or stream
  std::uint8_t lane = 0;   // a first-in-first-out queue that exists on every rank
  std::uint8_t phase = 0;  // index into Schedule::phases
  std::int32_t round = 0;  // ops of one round start together and end together on a rank
  Rank src;                // transfer: sender; broadcast: root
  Rank dst;                // transfer: receiver
  GroupId group;           // collectives, compute, barrier
  CargoId cargo;
  std::int32_t chunk_begin = 0;
  std::int32_t chunk_end = 0;
  std::int32_t count = 0;  // calls, tensors or matrices handled: what costs per piece count
  // Of transfers and collectives: what travels of the cargo. Of work: content, per rank.
  std::int64_t bytes = 0;
  std::uint32_t after_begin =
      0;  // Schedule::after[after_begin .. after_end): ops that must be done
  std::uint32_t after_end = 0;

  friend bool operator==(const Op&, const Op&) = default;
};

// Only of plans that code what they send.
constexpr bool is_coding(Work work) {
  return work == Work::scan || work == Work::encode || work == Work::decode || work == Work::apply;
}
inline bool is_collective(const Op& op) {
  return op.kind == OpKind::all_gather || op.kind == OpKind::broadcast;
}
// Whether the op has a cargo: it is neither work nor a barrier.
inline bool moves_bytes(const Op& op) { return op.kind == OpKind::transfer || is_collective(op); }

// Ranks that act together. An all-gather over a grid of `width` columns first sends each column's
// shards along the column (pipeline stages), then gathers along every row (expert or tensor
// parallel group). width == ranks.size(): one ring.
struct Group {
  std::vector<Rank> ranks;
  int width = 0;

  friend bool operator==(const Group&, const Group&) = default;
};

struct Cargo {
  std::vector<ParcelId> parcels;

  friend bool operator==(const Cargo&, const Cargo&) = default;
};

struct Phase {
  std::string name;                // "gather", "broadcast", "reshard", "direct"
  std::int64_t logical_bytes = 0;  // content moved in this phase, once however many receive it

  friend bool operator==(const Phase&, const Phase&) = default;
};

// How a lane works that is not a sequence of rounds: each rank sends its transfers in the order of
// the ops, `send` of them at a time, and likewise receives; sending and receiving do not wait for
// each other. 0: any number at a time, in any order. Such lanes have transfers only, in round 0.
struct LaneWindow {
  std::vector<std::uint16_t> send, receive;  // by rank; empty: the lane is in rounds

  bool in_rounds() const { return send.empty(); }
  friend bool operator==(const LaneWindow&, const LaneWindow&) = default;
};

// A plan as plain data: the planner writes it, the simulator and the executor read it.
//
// Rules, checked by verify (docs/schedule_format.md):
// 1. `after` names smaller op ids only.
// 2. Each op in `after` touches a rank that sends or works in this op.
// 3. A lane is FIFO on each rank: its ops are in round order; all ranks meet rounds in one global
// order. Lanes with a window have no rounds.
// 4. Every rank receives each chunk of each parcel it demands and does not own exactly once.
//    Collectives deliver only to members that lack the chunk.
// 5. Nobody sends what it neither owns nor received in an op named in `after`.
// 6. Only a plan with a coding has parcels of which a share travels, and work of coding.
struct Schedule {
  std::string strategy;
  int ranks = 0;
  int lanes = 0;
  std::vector<Phase> phases;
  std::vector<Parcel> parcels;
  std::vector<Cargo> cargos;
  std::vector<Group> groups;
  std::vector<Op> ops;
  std::vector<OpId> after;
  std::vector<LaneWindow> windows;  // by lane; empty: all lanes are in rounds
  LinkCaps caps;                    // how much of each port the plan is meant to use
  int ctas = 0;                     // thread blocks per rank and communicator; 0: the library's own
  std::optional<Coding> coding;     // none: all parcels travel as they are

  const LaneWindow* window_of(int lane) const {
    const auto at = static_cast<std::size_t>(lane);
    return at < windows.size() && !windows[at].in_rounds() ? &windows[at] : nullptr;
  }
  std::span<const OpId> after_of(const Op& op) const {
    return std::span(after).subspan(op.after_begin, op.after_end - op.after_begin);
  }

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace refit
