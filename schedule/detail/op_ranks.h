#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace refit::detail {

// "op 12 (transfer 1 -> 5)". The op's ranks and group exist.
std::string name_of(const Schedule& schedule, std::size_t id);

// Who takes part in which op, answered in constant time.
class OpRanks {
 public:
  explicit OpRanks(const Schedule& schedule);

  bool touches(const Op& op, Rank rank) const {
    if (op.kind == OpKind::transfer) return op.src == rank || op.dst == rank;
    return members_[op.group.index()][rank.index()];
  }

 private:
  std::vector<std::vector<bool>> members_;  // [group][rank]
};

}  // namespace refit::detail
