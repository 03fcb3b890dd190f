#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/layout.h"
#include "models/model_spec.h"

namespace refit {

// The slots for experts that the ranks of an expert-parallel group have in one layer, and which
// expert lies in each: the physical-to-logical map of an expert load balancer. An expert may have
// several slots.
//
//   {{0, 1, 2, 3, 0, 2}, {}} over 3 ranks     0 1 | 2 3 | 0 2
struct ExpertSlots {
  std::vector<int> experts;        // in rank order
  std::vector<int> slots_of_rank;  // empty: every rank has as many

  friend bool operator==(const ExpertSlots&, const ExpertSlots&) = default;
};

// Which whole experts each rank of an expert-parallel group keeps.
struct ExpertPlacement {
  std::string rule = "linear";  // contiguous, the first ranks one more; or "round_robin"
  int redundant = 0;            // more slots than experts: slot s has expert s % experts

  // Maps written out. Layers without one, and prediction modules, follow the rule above, or the map
  // of the rest if there is one.
  std::vector<ExpertSlots> maps;
  std::map<int, std::size_t> map_of_layer;
  std::optional<std::size_t> map_of_rest;
};

// Whether the ranks of a stage cut the experts that every token takes, or each has them whole.
enum class SharedExperts { sharded, replicated };

// The placement made ready for a model and a number of ranks.
class ExpertTable {
 public:
  enum class Shares { any, equal };  // whether the engine takes ranks with one expert more

  // Error(bad_input), starting with the key that is wrong: an expert without a slot, or slots that
  // do not divide over the ranks.
  ExpertTable(const ModelSpec& model, const ExpertPlacement& placement, int ranks, Shares shares);

  // Tensors with equal keys have equal splits.
  int key(const TensorSpec& tensor) const;
  const Split& split(const TensorSpec& tensor) const;

 private:
  std::map<int, std::size_t> split_of_layer_;
  std::size_t split_of_rest_ = 0;
  std::vector<Split> splits_;
};

}  // namespace refit
