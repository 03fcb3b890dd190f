#pragma once

#include "schedule/schedule.h"
#include "sim/coding_rates.h"
#include "sim/network_model.h"

namespace refit::detail {

// How long a compute op works on each rank of its group of `ranks`. `coding`: the rates of the
// plan's coding.
// As a tree of messages costs: nothing among no more than one.
double barrier_seconds(std::size_t ranks, const NetworkModel& model);

double compute_seconds(const Op& op, std::size_t ranks, const NetworkModel& model,
                       const CodingRates& coding);

}  // namespace refit::detail
