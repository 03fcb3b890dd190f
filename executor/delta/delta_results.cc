#include "executor/delta/delta_results.h"

#include "executor/delta/blob.h"

namespace refit::detail {
namespace {

ExecuteOptions as_iterations(const DeltaRunOptions& options) {
  ExecuteOptions iterations;
  iterations.iterations = options.versions;
  iterations.warmup = 1 + options.warmup;  // with the anchor
  return iterations;
}

}  // namespace

DeltaResults::DeltaResults(std::string transport, const RunContext& context,
                           const DeltaRunOptions& options)
    : RankResults(std::move(transport), context, as_iterations(options), FaultPolicy::fail) {}

void DeltaResults::add_of_seat(Rank, std::string_view words) {
  result_.versions.push_back(take<DeltaVersion>(words));
  result_.payload_bytes = entries_of<std::uint64_t>(words);
}

DeltaMeasurement DeltaResults::put_together() {
  result_.measurement = finish();
  return std::move(result_);
}

}  // namespace refit::detail
