#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "schedule/schedule.h"

namespace refit::test {

// Edits of a good plan, to see whether verify notices.

Schedule without_op(const Schedule& schedule, std::size_t id);
// The copy stands right behind the original.
Schedule with_copy_of_op(const Schedule& schedule, std::size_t id);
Schedule with_op(Schedule schedule, std::size_t id, const Op& op);
Schedule with_after(Schedule schedule, std::size_t id, std::vector<OpId> after);

// The number of the first op for which `is_meant(op)` holds; the test fails if there is none.
template <class Predicate>
std::size_t find_op(const Schedule& schedule, Predicate is_meant) {
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    if (is_meant(schedule.ops[id])) return id;
  }
  throw std::logic_error("the plan has no such op");
}

// "where: message", one a line.
std::string text_of(const Diagnostics& findings);

}  // namespace refit::test
