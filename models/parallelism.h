#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/edge.h"
#include "models/layout.h"
#include "models/model_spec.h"
#include "models/refit.h"

namespace refit {

// Some rows of a tensor's first dim, and where the ranks of one side keep them.
struct LayoutPart {
  IntervalSet rows;
  Layout layout;  // of `members` tensors that have only these rows
};

// How one side of a refit divides a model: which pipeline stage holds a tensor, and which part of
// it each rank of that stage keeps.
class Parallelism {
 public:
  virtual ~Parallelism() = default;

  virtual int gpus() const = 0;
  virtual int stages() const = 0;
  virtual int stage_of(const TensorSpec& tensor) const = 0;

  // The layout of `members` equal tensors of one stage, with the member as an uncut first dim.
  // Error(bad_input) if the degrees do not fit the tensor; the message names both.
  virtual Layout layout(const TensorSpec& tensor, int stage, int members) const = 0;

  // Tensors of one shape, role and stage have equal layouts if their keys are equal, too. Engines
  // that place each tensor on its own (flat buckets, expert maps per layer) tell them apart here.
  virtual int layout_key(const TensorSpec& tensor) const {
    (void)tensor;
    return 0;
  }

  // The same where a shard is no product of sets, but is one within some rows of the first dim: a
  // flat buffer cuts each expert at another row. Usually one part; the rows of all parts are all
  // rows, each once.
  virtual std::vector<LayoutPart> layout_parts(const TensorSpec& tensor, int stage,
                                               int members) const;

  // Whether the ranks store these matrices with rows and columns swapped against the checkpoint:
  // what they hold must be transposed on the way to whoever follows the checkpoint.
  virtual bool is_transposed(const TensorSpec& tensor) const {
    (void)tensor;
    return false;
  }

  // Decoder layers of each stage, in order.
  virtual const std::vector<int>& stage_layers() const = 0;
};

// Whether a tensor is divided among the ranks as experts are: their matrices, and what a model
// keeps per expert under another role.
bool on_expert_grid(const TensorSpec& tensor);

// Whether `tensor` ranks share whole query heads evenly, and their number and that of key/value
// heads are multiples of one another. Rows may divide where heads do not.
bool heads_fit(const HeadGroups& heads, int tensor);
void check_heads(const HeadGroups& heads, int tensor);  // Error(bad_input) if they don't

// The refit of a model from one side to the other, its tensors grouped in classes. Classes are of
// what travels, so a tensor that is sent in a format with scales is two. Error(bad_input) if a side
// cuts inside a block of a format that it holds, needs, sends or gets.
Refit make_refit(const ModelSpec& model, const Parallelism& source, const Parallelism& destination,
                 int ranks, const Edge& edge = {});

}  // namespace refit
