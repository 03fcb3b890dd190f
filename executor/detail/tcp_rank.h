#pragma once

#include <memory>

#include "executor/detail/process_seat.h"
#include "executor/execute_tcp.h"
#include "executor/rank_control.h"
#include "executor/run_rank.h"

namespace refit::detail {

// One rank's whole part in a run over TCP (run_process_rank). `tcp.network` is set.
void run_tcp_rank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
                  RankControl& control);

// How a rank is joined to the others by TCP; all of them must outlive it.
std::unique_ptr<ProcessSeat> tcp_seat(const RunContext& context, const TcpOptions& tcp,
                                      RankControl& control);

}  // namespace refit::detail
