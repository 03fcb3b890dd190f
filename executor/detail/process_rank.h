#pragma once

#include "executor/detail/process_seat.h"
#include "executor/execute.h"
#include "executor/loss_options.h"
#include "executor/rank_control.h"
#include "executor/run_rank.h"

namespace refit::detail {

// The whole part of a rank that is a process, over any transport: joins the others, runs all
// iterations, submits what it measured; and when another rank is lost, agrees with the rest on
// which, and stops or completes the iteration without it, as the policy says.
void run_process_rank(const RunContext& context, const ExecuteOptions& options,
                      const LossOptions& loss, RankControl& control, ProcessSeat& seat);

}  // namespace refit::detail
