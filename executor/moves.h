#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

  std::span<const std::uint32_t> after_of(const Move& move) const {
    return std::span(after).subspan(move.after_begin, move.after_end - move.after_begin);
  }
};

struct MoveOptions {
  std::int64_t piece_bytes = 1 << 20;  // of collectives
};

Moves write_out(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                const MoveOptions& options = {});

}  // namespace refit
