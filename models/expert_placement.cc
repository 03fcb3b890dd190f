#include "models/expert_placement.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "models/nearest_fit.h"
#include "models/parallelism.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

Split split_of_slots(const ExpertSlots& slots, int ranks) {
  std::vector<IntervalSet> pieces;
  std::size_t next = 0;
  for (int r = 0; r < ranks; ++r) {
    const std::size_t count =
        slots.slots_of_rank.empty()
            ? slots.experts.size() / static_cast<std::size_t>(ranks)
            : static_cast<std::size_t>(slots.slots_of_rank[static_cast<std::size_t>(r)]);
    // Two slots of one rank for the same expert are one copy from afar: the set holds it once.
    std::set<int> experts;
    for (std::size_t s = 0; s < count; ++s) experts.insert(slots.experts[next++]);
    std::vector<Interval> ones;
    for (const int e : experts) ones.push_back({e, e + 1});
    pieces.push_back(IntervalSet::of(std::move(ones)));
  }
  return Split::table(std::move(pieces));
}

void check_slots(const ExpertSlots& slots, int experts, int ranks) {
  const auto count = static_cast<int>(slots.experts.size());
  if (slots.slots_of_rank.empty() && count % ranks != 0) {
    refuse(fmt::format("expert_slots: {} slots do not divide over {} ranks; use {} slots", count,
                       ranks, nearest_fit(count, std::max(count, experts) + ranks, [&](int n) {
                         return n >= experts && n % ranks == 0;
                       })));
  }
  if (!slots.slots_of_rank.empty() &&
      slots.slots_of_rank.size() != static_cast<std::size_t>(ranks)) {
    refuse(fmt::format("expert_slots: slots of {} ranks are listed, but {} ranks share experts",
                       slots.slots_of_rank.size(), ranks));
  }
  std::vector<bool> seen(static_cast<std::size_t>(experts), false);
  for (const int e : slots.experts) {
    if (e < 0 || e >= experts) {
      refuse(fmt::format("expert_slots: there is no expert {}; the model has experts 0 to {}", e,
                         experts - 1));
    }
    seen[static_cast<std::size_t>(e)] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end()) {
    refuse(fmt::format("expert_slots: expert {} has no slot; every expert needs one",
                       missing - seen.begin()));
  }
}

// Slot s has expert s % experts: what a load balancer starts from.
ExpertSlots first_map(int experts, int redundant) {
  ExpertSlots slots;
  for (int s = 0; s < experts + redundant; ++s) slots.experts.push_back(s % experts);
  return slots;
}

Split round_robin(int experts, int ranks) {
  ExpertSlots slots;
  for (int r = 0; r < ranks; ++r) {
    const std::size_t before = slots.experts.size();
    for (int e = r; e < experts; e += ranks) slots.experts.push_back(e);
    slots.slots_of_rank.push_back(static_cast<int>(slots.experts.size() - before));
  }
  return split_of_slots(slots, ranks);
}

Split split_by_rule(int experts, const ExpertPlacement& placement, int ranks,
                    ExpertTable::Shares shares) {
  if (placement.redundant > 0) {
    const int slots = experts + placement.redundant;
    if (placement.rule != "linear") {
      refuse(
          fmt::format("redundant_experts: slots are dealt out linearly, not by {}; leave "
                      "expert_placement out",
                      placement.rule));
    }
    if (slots % ranks != 0) {
      refuse(fmt::format(
          "redundant_experts: {} experts and {} more are {} slots, which do not "
          "divide over {} ranks; use {} slots",
          experts, placement.redundant, slots, ranks, nearest_fit(slots, slots + ranks, [&](int n) {
            return n >= experts && n % ranks == 0;
          })));
    }
    return split_of_slots(first_map(experts, placement.redundant), ranks);
  }
  if (placement.rule == "round_robin") return round_robin(experts, ranks);
  return shares == ExpertTable::Shares::equal ? Split::even() : Split::balanced();
}

}  // namespace

ExpertTable::ExpertTable(const ModelSpec& model, const ExpertPlacement& placement, int ranks,
                         Shares shares) {
  if (!placement.map_of_rest) {
    splits_.push_back(split_by_rule(model.experts, placement, ranks, shares));
  }
  std::vector<std::size_t> split_of_map;
  for (const ExpertSlots& slots : placement.maps) {
    check_slots(slots, model.experts, ranks);
    Split split = split_of_slots(slots, ranks);
    // Equal maps are one, so that their layers share classes.
    const auto at = std::find(splits_.begin(), splits_.end(), split);
    split_of_map.push_back(static_cast<std::size_t>(at - splits_.begin()));
    if (at == splits_.end()) splits_.push_back(std::move(split));
  }
  for (const auto& [layer, map] : placement.map_of_layer) {
    split_of_layer_[layer] = split_of_map[map];
  }
  if (placement.map_of_rest) split_of_rest_ = split_of_map[*placement.map_of_rest];
}

int ExpertTable::key(const TensorSpec& tensor) const {
  if (!on_expert_grid(tensor)) return 0;
  const auto at = tensor.layer ? split_of_layer_.find(*tensor.layer) : split_of_layer_.end();
  return static_cast<int>(at == split_of_layer_.end() ? split_of_rest_ : at->second);
}

const Split& ExpertTable::split(const TensorSpec& tensor) const {
  return splits_[static_cast<std::size_t>(key(tensor))];
}

}  // namespace refit
