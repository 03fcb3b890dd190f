#pragma once

#include "schedule/detail/schedule_json_values.h"
#include "schedule/schedule.h"

namespace refit::detail {

// Whether every number that refers to an item of another list has one there, so that a plan that
// was read never indexes out of range, and whether all bytes and `after` lists add up to sane sums.
// The members of a file may stand in any order, so this comes when all are there.
void check_references(const Schedule& schedule, const JsonValues& json);

}  // namespace refit::detail
