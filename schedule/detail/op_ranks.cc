#include "schedule/detail/op_ranks.h"

#include <fmt/format.h>

namespace refit::detail {

std::string name_of(const Schedule& schedule, std::size_t id) {
  const Op& op = schedule.ops[id];
  if (op.kind == OpKind::transfer) {
    return fmt::format("op {} (transfer {} -> {})", id, op.src.value, op.dst.value);
  }
  const std::size_t ranks = schedule.groups[op.group.index()].ranks.size();
  if (op.kind == OpKind::broadcast) {
    return fmt::format("op {} (broadcast from {} to {} ranks)", id, op.src.value, ranks);
  }
  return fmt::format("op {} ({} of {} ranks)", id, to_string(op.kind), ranks);
}

OpRanks::OpRanks(const Schedule& schedule) {
  for (const Group& group : schedule.groups) {
    members_.emplace_back(static_cast<std::size_t>(schedule.ranks), false);
    for (const Rank rank : group.ranks) members_.back()[rank.index()] = true;
  }
}

}  // namespace refit::detail
