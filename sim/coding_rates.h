#pragma once

#include "models/coding.h"
#include "sim/network_model.h"

namespace refit {

// Content that one rank goes through per second in each kind of coding work; 0: it is free.
struct CodingRates {
  double scan_bytes_per_s = 0;
  double encode_bytes_per_s = 0;
  double decode_bytes_per_s = 0;
  double apply_bytes_per_s = 0;
};

// On a host: as many cores, for scan and apply up to what memory gives. On a GPU: its scan, and the
// other work in the proportion to it that one core has.
CodingRates coding_rates(const Coding& coding, const NetworkModel& model);

}  // namespace refit
