#include "delta/merge.h"

#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "delta/diff.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, problem));
}

void require_chain(std::span<const DeltaFile* const> deltas) {
  REFIT_CHECK(!deltas.empty());
  const DeltaIndex& first = deltas[0]->index();
  const Hash128 geometry = geometry_hash(first);
  for (std::size_t d = 1; d < deltas.size(); ++d) {
    const DeltaHeader& before = deltas[d - 1]->index().header;
    const DeltaHeader& header = deltas[d]->index().header;
    const std::string& where = deltas[d]->where();
    if (header.anchor) refuse(where, "is an anchor: it needs no deltas before it, begin with it");
    if (header.model_id != before.model_id)
      refuse(where, "is for another model than the one before it");
    if (header.plan_hash != before.plan_hash || geometry_hash(deltas[d]->index()) != geometry) {
      refuse(where, "has other regions than the one before it");
    }
    if (header.base_state != before.target_state) {
      refuse(where, fmt::format("begins at state {}, the one before it ends at {}",
                                to_hex(header.base_state), to_hex(before.target_state)));
    }
    if (header.base_version != before.target_version) {
      refuse(where, fmt::format("begins at version {}, the one before it ends at {}",
                                header.base_version, before.target_version));
    }
  }
}

// What a chain does to each element is either "add d" or "become c". It shows at two bases: 0
// becomes d or c, all ones become d - 1 or c.
struct Outcome {
  std::vector<std::byte> of_zero;
  std::vector<std::byte> of_ones;
};

// Old and new elements of which the merged encoding is that of the chain.
struct Pair {
  std::vector<std::byte> old_elements;
  std::vector<std::byte> new_elements;
  DeltaMode mode = DeltaMode::rice;
};

class SegmentMerger {
 public:
  SegmentMerger(std::span<const DeltaFile* const> deltas, const MergeOptions& options,
                std::size_t position)
      : deltas_(deltas),
        options_(options),
        index_(deltas[0]->index()),
        position_(position),
        segment_(index_.segments[position]),
        width_(static_cast<std::size_t>(index_.regions[segment_.region].element_bytes)) {}

  SegmentChange merge() const {
    SegmentChange change;
    change.encoded = encoded();
    change.base_hash = segment_.base_hash;
    change.target_hash = deltas_.back()->index().segments[position_].target_hash;
    const DeltaRegion& region = index_.regions[segment_.region];
    if (region.first_segment == position_) {  // a region's fingerprint is the sum of its segments'
      change.base_fingerprint = region.base_fingerprint;
      change.target_fingerprint =
          deltas_.back()->index().regions[segment_.region].target_fingerprint;
    }
    return change;
  }

 private:
  EncodedSegment encoded() const {
    const Pair pair = options_.base && !index_.header.anchor ? with_base() : without_base();
    const bool same = pair.old_elements == pair.new_elements;
    if (same && !index_.header.anchor) return {};
    // An anchor says of no element that it changed.
    const std::vector<std::byte>& old_elements =
        index_.header.anchor ? pair.new_elements : pair.old_elements;
    return encode_segment(old_elements, pair.new_elements, static_cast<int>(width_), pair.mode);
  }

  Pair with_base() const {
    Pair pair{options_.base(position_), {}, options_.mode};
    if (pair.mode == DeltaMode::conditioned && width_ != 2) pair.mode = DeltaMode::rice;
    if (hash64(pair.old_elements) != segment_.base_hash) {
      refuse(deltas_[0]->place(position_), "the base given is not the one this delta was made for");
    }
    pair.new_elements = pair.old_elements;
    for (const DeltaFile* delta : deltas_) {
      if (!reach_target(delta->index(), position_, delta->segment(position_), pair.new_elements)) {
        refuse(delta->place(position_), "does not lead to its target hash");
      }
    }
    return pair;
  }

  Pair without_base() const {
    const std::size_t bytes = segment_.elements * width_;
    Outcome outcome{std::vector<std::byte>(bytes), std::vector<std::byte>(bytes, std::byte{0xff})};
    for (const DeltaFile* delta : deltas_) {
      const EncodedSegment encoded = delta->segment(position_);
      // Once all elements are known, they are a base like any other.
      if (encoded.mode == DeltaMode::conditioned && outcome.of_zero != outcome.of_ones) {
        refuse(delta->place(position_),
               "is of mode conditioned, which means nothing without its base: give the base, or "
               "make the "
               "deltas with profile rice");
      }
      apply_segment(encoded, static_cast<int>(width_), outcome.of_zero);
      apply_segment(encoded, static_cast<int>(width_), outcome.of_ones);
    }
    return pair_of(outcome);
  }

  Pair pair_of(const Outcome& outcome) const {
    std::size_t written = 0;
    std::size_t added = 0;
    const std::vector<std::byte> zero(width_);
    const auto same = [&](const std::vector<std::byte>& a, const std::byte* b, std::size_t at) {
      return std::memcmp(a.data() + at, b, width_) == 0;
    };
    Pair pair{std::vector<std::byte>(outcome.of_zero.size()), outcome.of_zero, DeltaMode::rice};
    for (std::size_t at = 0; at < outcome.of_zero.size(); at += width_) {
      if (same(outcome.of_zero, outcome.of_ones.data() + at, at)) {
        ++written;
        // Any other old value, so that it counts as changed.
        for (std::size_t b = 0; b < width_; ++b) {
          pair.old_elements[at + b] = ~outcome.of_zero[at + b];
        }
      } else if (!same(outcome.of_zero, zero.data(), at)) {
        ++added;
      }
    }
    if (written == segment_.elements) {
      pair.mode = options_.mode == DeltaMode::anchor ? DeltaMode::anchor : DeltaMode::dense;
    } else if (written > 0) {
      pair.mode = DeltaMode::overwrite;
    }
    if (written > 0 && added > 0) {
      refuse(deltas_.back()->place(position_),
             "adds to some elements and overwrites others: give the base to merge the two");
    }
    return pair;
  }

  std::span<const DeltaFile* const> deltas_;
  const MergeOptions& options_;
  const DeltaIndex& index_;
  std::size_t position_;
  const DeltaSegment& segment_;
  std::size_t width_;
};

}  // namespace

DeltaIndex merge_deltas(std::span<const DeltaFile* const> deltas, const MergeOptions& options,
                        std::ostream& out) {
  require_chain(deltas);
  DeltaHeader header = deltas[0]->index().header;
  header.target_version = deltas.back()->index().header.target_version;
  std::vector<DeltaRegion> regions = deltas[0]->index().regions;
  for (DeltaRegion& region : regions) {
    region.base_fingerprint = 0;
    region.target_fingerprint = 0;
    region.changed = 0;
  }
  DeltaWriter writer(out, cut_into_segments(header, std::move(regions)));
  std::atomic<std::size_t> merged = 0;
  write_segments(writer, deltas[0]->index().segments.size(), options.threads, [&](std::size_t i) {
    const SegmentChange change = SegmentMerger(deltas, options, i).merge();
    if (options.progress) options.progress(++merged);
    return change;
  });
  return writer.finish();
}

}  // namespace refit
