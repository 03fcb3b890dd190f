#include "sim/first_use.h"

#include <set>
#include <utility>

namespace refit {

FirstUse first_use(const Schedule& schedule, double registered_bytes, const NetworkModel& model) {
  std::set<std::pair<int, std::int64_t>> communicators;  // lane and group; -1: pairs of ranks
  for (const Op& op : schedule.ops) {
    if (moves_bytes(op)) communicators.emplace(op.lane, is_collective(op) ? op.group.value : -1);
  }
  FirstUse use{static_cast<int>(communicators.size()), registered_bytes, 0};
  use.seconds = use.communicators * model.connect_s;
  if (model.register_bytes_per_s > 0) use.seconds += registered_bytes / model.register_bytes_per_s;
  return use;
}

}  // namespace refit
