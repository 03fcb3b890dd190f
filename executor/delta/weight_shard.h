#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "delta/region.h"
#include "delta/region_memory.h"
#include "delta/update_model.h"
#include "models/refit.h"

namespace refit {

// One rank's elements of one tensor class, in host memory, stored densely row by row.
class WeightShard {
 public:
  // Nothing if the rank holds none of the class.
  WeightShard(const TensorClass& c, ClassId id, const Layout& layout, Rank rank);

  bool empty() const { return bytes_.empty(); }
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  int element_bytes() const { return element_bytes_; }
  const std::vector<IntervalSet>& sides() const { return sides_; }
  // Its elements by their index in the class, in the order in which they lie here.
  const std::vector<ElementRun>& runs() const { return runs_; }
  std::int64_t elements() const;

  // Where a region of the class lies in `bytes`, which may be those of a copy.
  RegionMemory place(const Region& region, std::span<std::byte> bytes) const;
  RegionMemory place(const Region& region) { return place(region, bytes_); }
  RegionView view(const Region& region) const;

  // Of the tensor, as far as it is here (delta/fingerprint.h): equal for all layouts in sum.
  std::uint64_t fingerprint() const;

 private:
  DeltaBox local_box(const Region& region) const;

  ClassId id_;
  std::int64_t class_elements_;
  int element_bytes_;
  std::vector<IntervalSet> sides_;  // empty if the rank holds nothing of the class
  std::vector<ElementRun> runs_;
  std::vector<std::byte> bytes_;
};

// What a seeded trainer makes of the elements of a shard, step by step: a function of the model,
// the class, the element and the step alone (UpdatedShard), so that any rank knows what any element
// is at any version without having received it.
//
// Elements of two bytes are the BF16 weights; of four, the same value in 32 bits; of one, bits 4 to
// 11 of the BF16, which change a sixteenth as often.
class TrainedWeights {
 public:
  TrainedWeights(const UpdateModel& model, ClassId id, const WeightShard& shard);

  void step_to(std::uint64_t version);
  void write(std::span<std::byte> elements) const;

 private:
  UpdatedShard shard_;
  int element_bytes_;
  std::uint64_t version_ = 0;
};

}  // namespace refit
