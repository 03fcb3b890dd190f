#pragma once

#include <cstddef>
#include <vector>

#include "executor/strided_box.h"
#include "schedule/schedule.h"

namespace refit {

// Where the content of ops lies on one rank: what run_rank sends from and receives into.
class OpMemory {
 public:
  virtual ~OpMemory() = default;

  virtual Rank rank() const = 0;

  // The op's content as one stream of bytes in the op's order: cargo parcels in order, their chunks
  // in order, fragments in order. `sending`: from where this rank has it; else where it is to come.
  virtual std::vector<StridedBox> boxes(const Op& op, bool sending) = 0;

  // A collective's content in one contiguous buffer. It is made on first use, with what this rank
  // has of it filled in, and kept until it is dropped.
  virtual std::byte* bucket(const Op& op) = 0;
  // Takes the parcels that this rank demands out of it.
  virtual void unpack_bucket(const Op& op) = 0;
  virtual void drop_bucket(const Op& op) = 0;
};

}  // namespace refit
