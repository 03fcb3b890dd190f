#pragma once

#include <string_view>

#include "executor/detail/rank_results.h"
#include "executor/execute_tcp.h"
#include "executor/rank_control.h"
#include "executor/run_rank.h"

namespace refit::detail {

// One rank's whole part in a run over TCP: opens its connections, runs all iterations, submits what
// it measured. `tcp.network` is set.
void run_tcp_rank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
                  RankControl& control);

// Puts together what the ranks submit.
class TcpResults {
 public:
  TcpResults(const RunContext& context, const ExecuteOptions& options, FaultPolicy policy);

  // Error(environment) if it is not what a rank of this run submits.
  void add(Rank rank, std::string_view submitted);
  Measurement finish();

 private:
  void add_fault(std::string_view submitted);

  int warmup_ = 0;
  FaultPolicy policy_;
  RankResults results_;
};

}  // namespace refit::detail
