#pragma once

#include <cstdint>

#include "schedule/schedule.h"
#include "sim/network_model.h"

namespace refit {

// What the first refit takes besides, once: communicators are made one after the other, and the
// memory of the fullest rank is registered. No prediction of a refit contains it.
struct FirstUse {
  int communicators = 0;  // groups of collectives, and one per lane with transfers
  double registered_bytes = 0;
  double seconds = 0;
};

FirstUse first_use(const Schedule& schedule, double registered_bytes, const NetworkModel& model);

}  // namespace refit
