#pragma once

#include <vector>

#include "executor/clock.h"
#include "executor/moves.h"
#include "executor/op_memory.h"
#include "executor/rank_program.h"
#include "executor/transport.h"
#include "schedule/timeline.h"
#include "topology/cluster.h"

namespace refit {

// Everything that is equal on all ranks of a run.
struct RunContext {
  const Schedule& schedule;
  const Refit& refit;
  const Cluster& cluster;
  const Moves& moves;
};

// Runs one rank's program once. Returns when each op began and ended on this rank, in seconds since
// `clock_zero_s` on the steady clock; {0, 0} for ops it takes no part in.
Timeline run_rank(const RunContext& context, const RankProgram& program, OpMemory& memory,
                  Transport& transport, double clock_zero_s);

}  // namespace refit
