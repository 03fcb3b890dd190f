#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "executor/execute.h"
#include "executor/measurement.h"
#include "executor/run_rank.h"

namespace refit::detail {

// What one rank measured in one iteration, as it submits it to the process that reports.
struct RankIteration {
  std::int32_t iteration = 0;  // warm-ups count
  double seconds = 0;
  double cpu_s = 0;
  std::int64_t wrong_bytes = 0;
  std::vector<WrongByte> examples;
  Timeline timeline;  // of the last iteration; empty otherwise
};

void put(std::string& out, const RankIteration& measured);

// Puts together what the ranks of a run submit.
class RankResults {
 public:
  RankResults(std::string transport, const RunContext& context, const ExecuteOptions& options);

  // Takes one RankIteration off the front of `in`. Error(environment) if it is not what a rank of
  // this run submits.
  void add(Rank rank, std::string_view& in);

  Measurement measurement;

 private:
  int warmup_ = 0;
};

}  // namespace refit::detail
