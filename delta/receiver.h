#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "delta/container.h"
#include "delta/region_memory.h"
#include "delta/segment_message.h"
#include "delta/version_store.h"

namespace refit {

// A region with its weights. Of `region` only id, tensor, width and box are looked at.
struct HeldRegion {
  DeltaRegion region;
  RegionMemory memory;
};

struct ReceiverOptions {
  int threads = 1;
  std::function<void()> flush;  // makes weights in a file durable; called before commit
  // Told before a segment's elements are written, by its position in the index.
  std::function<void(std::size_t)> before_write;
};

// One receiver of weights, through any number of deltas:
//
//   announce(index)   is this delta for these weights?        refused: nothing has happened
//   stage(message)    any order, any number of times          until missing() is empty
//   check_base()      are all weights still the base?         else: what must be sent as new
//   elements apply()           the same                                refused: nothing has
//   happened
//                     the record says `applying`, then segment by segment in place
//   apply() again     with the rewritten segments it asked for, if any
//   commit()          compare-and-set of the record
//
// A crash anywhere, the kill of the process included, is mended by the same calls: a segment that
// hashes to the target is skipped, one that hashes to the base is applied, any other is asked for
// as new elements. Applying a difference twice would corrupt silently, so no segment is ever
// applied without that look, and only elements that hash to the target are written.
class DeltaReceiver {
 public:
  DeltaReceiver(const Hash128& model_id, const Hash128& plan_hash, std::vector<HeldRegion> regions,
                VersionStore& versions, ReceiverOptions options = {});

  // Error(bad_input): another model, plan, base version, base state or set of regions. Announcing
  // the same again changes nothing; another one drops what was staged.
  void announce(const DeltaIndex& index);

  Staged stage(SegmentMessage message);
  std::vector<SegmentName> missing() const;  // empty segments need no message

  // Segments whose weights are no longer the version that the record says, so that a difference
  // means nothing there: staged as new elements they become the target like the others. None of an
  // anchor, which needs no base, nor of half applied weights, of which apply() tells.
  std::vector<RewriteRequest> check_base();

  // Error(bad_input) if segments are missing; Error(check_failed) if check_base() would ask for
  // some. Otherwise what must be sent anew; empty: all weights are the target.
  std::vector<RewriteRequest> apply();

  // Only after an apply() that asked for nothing. Error(check_failed) if the record is not what it
  // was at apply().
  VersionRecord commit();

 private:
  struct Slot {
    std::optional<EncodedSegment> encoded;
    std::uint64_t payload_hash = 0;
    bool rewritten = false;
  };

  const DeltaIndex& announced() const;
  SegmentName name_of(std::size_t position) const;
  void require_base();
  std::optional<RewriteRequest> apply_one(std::size_t position);
  VersionRecord applying_record(const VersionRecord& record) const;

  Hash128 model_id_;
  Hash128 plan_hash_;
  std::vector<HeldRegion> regions_;
  VersionStore& versions_;
  ReceiverOptions options_;
  std::optional<DeltaIndex> index_;
  std::vector<Slot> slots_;
  bool has_base_ = false;  // as check_base() has seen
  bool reached_ = false;
};

}  // namespace refit
