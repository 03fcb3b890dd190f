#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "planner/plan.h"
#include "planner/systems.h"

namespace refit {

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::gather_broadcast:
      return "gather_broadcast";
    case Strategy::direct:
      return "direct";
    case Strategy::optimal:
      return "optimal";
    case Strategy::owner_broadcast:
      return "owner_broadcast";
    case Strategy::object_store:
      return "object_store";
    case Strategy::relay_tree:
      return "relay_tree";
    case Strategy::reshard:
      return "reshard";
    case Strategy::stripe:
      return "stripe";
  }
  return "?";
}

Strategy Policy::of(const TensorClass& tensor_class) const {
  if (tensor_class.mtp || tensor_class.scales) return rest;
  const auto at = roles.find(tensor_class.role);
  return at == roles.end() ? rest : at->second;
}

Policy named_policy(std::string_view name) {
  for (const Strategy strategy : {Strategy::gather_broadcast, Strategy::direct, Strategy::reshard,
                                  Strategy::optimal, Strategy::owner_broadcast, Strategy::stripe,
                                  Strategy::object_store, Strategy::relay_tree}) {
    if (name == to_string(strategy)) return {std::string(name), strategy, {}, {}};
  }
  if (name == "hybrid") {
    return {"hybrid",
            Strategy::gather_broadcast,
            {{Role::routed_expert, Strategy::reshard}, {Role::dense_ffn, Strategy::reshard}},
            {}};
  }
  for (const auto& [coded, strategy] : {std::pair("delta_broadcast", Strategy::gather_broadcast),
                                        std::pair("delta_reshard", Strategy::optimal),
                                        std::pair("delta_object_store", Strategy::object_store),
                                        std::pair("delta_relay_tree", Strategy::relay_tree)}) {
    if (name == coded) return {coded, strategy, {}, {}, true};
  }
  if (const System* system = find_system(name)) return system->policy;
  std::vector<std::string_view> known;
  for (const System& system : systems()) known.push_back(system.name);
  throw Error(
      ErrorCode::bad_input,
      fmt::format("'{}' is neither a strategy (gather_broadcast, direct, reshard, hybrid, optimal, "
                  "owner_broadcast, stripe, object_store, relay_tree, delta_broadcast, "
                  "delta_reshard, delta_object_store, delta_relay_tree) nor a system ({})",
                  shown(name), fmt::join(known, ", ")));
}

}  // namespace refit
