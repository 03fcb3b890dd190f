#pragma once

#include <string>
#include <string_view>

#include "executor/delta/delta_measurement.h"
#include "executor/delta/delta_options.h"
#include "executor/detail/rank_results.h"

namespace refit::detail {

// Puts together what the ranks submit.
class DeltaResults : public RankResults {
 public:
  DeltaResults(std::string transport, const RunContext& context, const DeltaRunOptions& options);

  DeltaMeasurement put_together();

 private:
  void add_of_seat(Rank rank, std::string_view words) override;

  DeltaMeasurement result_;
};

}  // namespace refit::detail
