#include <fmt/format.h>

#include "base/error.h"
#include "planner/plan.h"

namespace refit {

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::gather_broadcast:
      return "gather_broadcast";
    case Strategy::direct:
      return "direct";
    case Strategy::optimal:
      return "optimal";
    case Strategy::reshard:
      return "reshard";
  }
  return "?";
}

Strategy Policy::of(const TensorClass& tensor_class) const {
  if (tensor_class.mtp) return rest;
  const auto at = roles.find(tensor_class.role);
  return at == roles.end() ? rest : at->second;
}

Policy named_policy(std::string_view name) {
  for (const Strategy strategy :
       {Strategy::gather_broadcast, Strategy::direct, Strategy::reshard, Strategy::optimal}) {
    if (name == to_string(strategy)) return {std::string(name), strategy, {}};
  }
  if (name == "hybrid") {
    return {"hybrid",
            Strategy::gather_broadcast,
            {{Role::routed_expert, Strategy::reshard}, {Role::dense_ffn, Strategy::reshard}}};
  }
  throw Error(
      ErrorCode::bad_input,
      fmt::format("'{}' is not a strategy; use one of gather_broadcast, direct, reshard, hybrid, "
                  "optimal",
                  name));
}

}  // namespace refit
