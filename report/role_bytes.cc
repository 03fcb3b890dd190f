#include "report/role_bytes.h"

#include <map>

namespace refit {

std::vector<RoleBytes> bytes_by_role(const Refit& refit) {
  std::map<Role, RoleBytes> by_role;
  for (const TensorClass& c : refit.classes) {
    RoleBytes& sum = by_role[c.role];
    sum.role = c.role;
    sum.tensors += c.checkpoint_tensors;
    sum.unique_bytes += c.bytes();
    sum.source_bytes += c.source.held_elements() * bytes_per_element(c.dtype);
    sum.destination_bytes += c.destination.held_elements() * bytes_per_element(c.dtype);
  }
  std::vector<RoleBytes> roles;
  for (const auto& [role, bytes] : by_role) roles.push_back(bytes);
  return roles;
}

}  // namespace refit
