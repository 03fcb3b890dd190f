#pragma once

#include <string>
#include <vector>

#include "sweep/row.h"

namespace refit {

// One change of a scenario, planned and predicted anew.
struct WhatIf {
  std::string change;               // "NICs +100 Gbit/s"
  std::vector<std::string> fields;  // "cluster.nic_bandwidth: 500 Gbit/s"
  SweepRow row;                     // after it; infeasible: its reason says why
};

// What moves a strategy's prediction, and what it would wait for then.
struct Sensitivity {
  std::string strategy;
  SweepRow base;
  std::vector<WhatIf> what_ifs;
};

}  // namespace refit
