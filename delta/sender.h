#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "delta/delta_file.h"
#include "delta/diff.h"
#include "delta/receiver.h"

namespace refit {

// The trainer's side: a baseline, that is the weights all receivers committed last, and the delta
// under way. The baseline is one copy of the weights (memory, or a mapped file); a version under
// way costs its encoded segments, not a second copy, and goes into the baseline only when
// committed.
class DeltaSender {
 public:
  // Of the header: model_id, plan_hash and segment_elements. `version` is the baseline's.
  DeltaSender(const DeltaHeader& identity, std::vector<HeldRegion> baseline, std::uint64_t version,
              int threads = 1);

  std::uint64_t version() const { return version_; }
  const Hash128& state() const { return state_; }

  // Compares the weights with the baseline, region by region in its order. A version under way is
  // dropped. Error(check_failed) if the baseline changed since the last commit.
  const DeltaIndex& prepare(std::span<const RegionView> weights, std::uint64_t target_version,
                            DeltaMode mode = DeltaMode::empty);

  // The baseline as it is, for receivers that hold nothing yet or in another layout. `mode` is
  // dense or anchor. Its commit changes nothing here.
  const DeltaIndex& prepare_anchor(DeltaMode mode = DeltaMode::anchor);

  // Of the version under way. Error(bad_input) if there is none, or no such segment.
  const DeltaIndex& index() const;
  const std::vector<std::byte>& code(std::size_t position) const;  // in the index
  SegmentMessage message(const SegmentName& name) const;
  SegmentMessage rewrite(const RewriteRequest& request) const;
  std::vector<SegmentName> names() const;  // of the segments that are not empty
  void write_file(std::ostream& out) const;

  // All receivers have it: the version under way becomes the baseline.
  void commit(std::uint64_t target_version);

 private:
  struct Pending {
    DeltaIndex index;
    std::vector<SegmentChange> changes;
  };
  // Every segment as `encode(index, position)` gives it, in parallel.
  template <class Encode>
  Pending coded(const DeltaHeader& header, const Encode& encode) const;

  std::size_t position_of(const SegmentName& name) const;
  std::vector<std::byte> base_elements(std::size_t position) const;

  DeltaHeader identity_;
  std::vector<HeldRegion> baseline_;
  std::uint64_t version_;
  int threads_;
  Hash128 state_;
  std::vector<SegmentPrints> prints_;  // of the baseline, once a version has been under way
  std::optional<Pending> pending_;
};

}  // namespace refit
