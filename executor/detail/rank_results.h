#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
  OpTimes times;  // of the last iteration; empty otherwise
};

// What a survivor knows of how a lost rank was done without.
struct RankFault {
  std::int32_t iteration = 0;  // warm-ups count
  Rank lost;
  std::string reason;
  double detected_s = 0;  // these two from the start of the iteration
  double reconnected_s = 0;
  std::int64_t recovered_bytes = 0;  // that it received
  std::vector<Rank> dropped;
};

// As RankResults::add takes them. A text is for the transport's own results.
std::string submission(const RankIteration& measured);
std::string submission(const RankFault& fault);
std::string submission(const std::string& of_seat);

// Puts together what the ranks of a run submit.
class RankResults {
 public:
  RankResults(std::string transport, const RunContext& context, const ExecuteOptions& options,
              FaultPolicy policy);
  virtual ~RankResults() = default;

  // Error(environment) if it is not what a rank of this run submits.
  void add(Rank rank, std::string_view submitted);
  virtual Measurement finish() { return std::move(measurement_); }

 protected:
  virtual void add_of_seat(Rank rank, std::string_view words) { (void)rank, (void)words; }

  Measurement measurement_;

 private:
  void add_iteration(Rank rank, std::string_view in);
  void add_fault(std::string_view in);

  int warmup_ = 0;
  FaultPolicy policy_;
};

}  // namespace refit::detail
