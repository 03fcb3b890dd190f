#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sweep/what_if.h"

namespace refit {

// The scenario as it is; with NICs 100 Gbit/s faster; with NVLink domains of twice as many GPUs;
// with one more engine, on nodes of the last group where the cluster is full; and with one more
// percent of the weights changed where it says how many are. Each is planned and predicted anew,
// for each strategy, in `workers` processes. `adjust`: what a command line changes of a scenario.
std::vector<Sensitivity> sensitivity(const Scenario& scenario,
                                     const std::vector<std::string>& strategies, int workers,
                                     const std::function<void(Scenario&)>& adjust = {});

}  // namespace refit
