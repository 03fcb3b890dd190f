#pragma once

#include <cstdint>
#include <vector>

#include "models/refit.h"

namespace refit {

// What the tensors of one role weigh, and how often either side holds them.
struct RoleBytes {
  Role role = Role::unspecified;
  std::int64_t tensors = 0;            // as the checkpoint counts them
  std::int64_t unique_bytes = 0;       // one copy
  std::int64_t source_bytes = 0;       // on all ranks, replicas counted
  std::int64_t destination_bytes = 0;  // the same after the refit: the payload
};

// The roles that the refit has, in the order of Role.
std::vector<RoleBytes> bytes_by_role(const Refit& refit);

}  // namespace refit
