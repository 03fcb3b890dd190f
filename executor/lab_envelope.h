#pragma once

#include <string>

#include "executor/measurement.h"
#include "executor/moves.h"

namespace refit {

// Why a run in a lab says nothing about the plan, or nothing ("") if it can be trusted: the machine
// itself was the limit. Measured on two cores: times are right within 2 % up to 8 Gbit/s delivered
// in total, 8 % slow at 16 and 40 % slow at 32 Gbit/s.
std::string envelope_fault(const Measurement& measurement, const Moves& moves, int cores);

}  // namespace refit
