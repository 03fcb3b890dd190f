#pragma once

#include "executor/execute_tcp.h"
#include "executor/rank_control.h"
#include "executor/run_rank.h"

namespace refit::detail {

// One rank's whole part in a run over TCP (run_process_rank). `tcp.network` is set.
void run_tcp_rank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
                  RankControl& control);

}  // namespace refit::detail
