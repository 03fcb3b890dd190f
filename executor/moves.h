#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "executor/rank_lists.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// One message between two ranks: bytes [begin, end) of the content of an op.
struct Move {
  OpId op;
  Rank src;
  Rank dst;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t after_begin = 0;  // Moves::after[..]: moves that must have reached src before
  std::uint32_t after_end = 0;

  std::int64_t bytes() const { return end - begin; }
};

// A schedule with its collectives written out as messages, in an order that is safe to run one by
// one. The same rings and chains whose fluid limit the simulator uses: broadcasts run along the
// domains of the group over all their NICs, pieces pipelined, and round each domain by NVLink;
// barriers are empty messages to the first rank of the group and back.
struct Moves {
  std::vector<Move> moves;
  std::vector<std::uint32_t> after;
  std::vector<std::uint32_t> first_of_op;  // ops + 1 entries
  // In global order:
  RankLists<std::uint32_t> of_rank;  // moves that it sends or receives
  RankLists<OpId> ops_of_rank;       // that have a move of it, or a group with it; without compute

  std::span<const std::uint32_t> after_of(const Move& move) const {
    return std::span(after).subspan(move.after_begin, move.after_end - move.after_begin);
  }
};

struct MoveOptions {
  std::int64_t piece_bytes = 1 << 20;  // of collectives
  std::int64_t most_moves = 1 << 24;   // about 1 GB of them
  // What travels of a chunk, where that is known better than the plan says it (chunk_wire_bytes).
  std::function<std::int64_t(ParcelId, int chunk)> chunk_bytes = nullptr;
};

// How many moves a schedule is, without making any.
std::int64_t count_moves(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         const MoveOptions& options = {});

// Error(bad_input) if there would be more than `most_moves`.
Moves write_out(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                const MoveOptions& options = {});

}  // namespace refit
