#pragma once

#include <vector>

#include "executor/clock.h"
#include "executor/moves.h"
#include "executor/op_memory.h"
#include "executor/op_times.h"
#include "executor/rank_program.h"
#include "executor/transport.h"
#include "topology/cluster.h"

namespace refit {

// Everything that is equal on all ranks of a run.
struct RunContext {
  const Schedule& schedule;
  const Refit& refit;
  const Cluster& cluster;
  const Moves& moves;
};

// Runs one rank's program once. Returns when each of its ops began and ended here, in seconds since
// `clock_zero_s` on the steady clock.
OpTimes run_rank(const RunContext& context, const RankProgram& program, OpMemory& memory,
                 Transport& transport, double clock_zero_s);

}  // namespace refit
