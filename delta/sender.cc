#include "delta/sender.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "delta/diff.h"
#include "delta/in_parallel.h"

namespace refit {
namespace {

DeltaIndex geometry(const DeltaHeader& identity, const std::vector<HeldRegion>& held) {
  std::vector<DeltaRegion> regions;
  for (const HeldRegion& one : held) {
    DeltaRegion region;
    region.id = one.region.id;
    region.tensor = one.region.tensor;
    region.element_bytes = one.region.element_bytes;
    region.box = one.region.box;
    regions.push_back(region);
  }
  return cut_into_segments(identity, std::move(regions));
}

}  // namespace

DeltaSender::DeltaSender(const DeltaHeader& identity, std::vector<HeldRegion> baseline,
                         std::uint64_t version, int threads)
    : identity_(identity), baseline_(std::move(baseline)), version_(version), threads_(threads) {
  DeltaIndex index = geometry(identity_, baseline_);
  in_parallel(index.segments.size(), threads_, [&](std::size_t i) {
    DeltaSegment& segment = index.segments[i];
    std::vector<std::byte> scratch;
    segment.target_hash = hash64(
        baseline_[segment.region].memory.read(segment.first_element, segment.elements, scratch));
  });
  complete(index);
  state_ = index.header.target_state;
}

template <class Encode>
DeltaSender::Pending DeltaSender::coded(const DeltaHeader& header, const Encode& encode) const {
  Pending pending{geometry(header, baseline_), {}};
  DeltaIndex& index = pending.index;
  pending.changes.resize(index.segments.size());
  in_parallel(index.segments.size(), threads_,
              [&](std::size_t i) { pending.changes[i] = encode(index, i); });
  for (std::size_t i = 0; i < pending.changes.size(); ++i) enter(index, i, pending.changes[i]);
  complete(index);
  return pending;
}

const DeltaIndex& DeltaSender::prepare(std::span<const RegionView> weights,
                                       std::uint64_t target_version, DeltaMode mode) {
  REFIT_CHECK(weights.size() == baseline_.size());
  if (target_version <= version_) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("version {} does not come after the baseline's, {}", target_version, version_));
  }
  pending_.reset();
  DeltaHeader header = identity_;
  header.base_version = version_;
  header.target_version = target_version;
  Pending pending = coded(header, [&](const DeltaIndex& index, std::size_t i) {
    const DeltaSegment& segment = index.segments[i];
    // Kept from segment to segment: these are megabytes, which the kernel would have to clear anew.
    thread_local std::vector<std::byte> old_scratch, new_scratch;
    return encode_change(
        index, i,
        baseline_[segment.region].memory.read(segment.first_element, segment.elements, old_scratch),
        weights[segment.region].read(segment.first_element, segment.elements, new_scratch), mode,
        prints_.empty() ? nullptr : &prints_[i]);
  });
  const DeltaIndex& index = pending.index;
  if (index.header.base_state != state_) {
    throw Error(
        ErrorCode::check_failed,
        fmt::format("the baseline of version {} has state {}, at its commit it had {}: it was "
                    "changed since",
                    version_, to_hex(index.header.base_state), to_hex(state_)));
  }
  pending_ = std::move(pending);
  return pending_->index;
}

const DeltaIndex& DeltaSender::prepare_anchor(DeltaMode mode) {
  DeltaHeader header = identity_;
  header.anchor = true;
  header.target_version = version_;
  pending_ = coded(header, [&](const DeltaIndex& index, std::size_t i) {
    const DeltaSegment& segment = index.segments[i];
    std::vector<std::byte> scratch;
    return encode_change(
        index, i, {},
        baseline_[segment.region].memory.read(segment.first_element, segment.elements, scratch),
        mode);
  });
  return pending_->index;
}

const std::vector<std::byte>& DeltaSender::code(std::size_t position) const {
  index();
  return pending_->changes.at(position).encoded.payload;
}

const DeltaIndex& DeltaSender::index() const {
  if (!pending_) throw Error(ErrorCode::bad_input, "no version is under way; prepare one first");
  return pending_->index;
}

std::size_t DeltaSender::position_of(const SegmentName& name) const {
  const DeltaIndex& index = this->index();
  const auto position = find_segment(index, name.region, name.segment);
  if (position && name.target_version == index.header.target_version) return *position;
  throw Error(
      ErrorCode::bad_input,
      fmt::format("version {} region {} segment {} is not under way; version {} is",
                  name.target_version, name.region, name.segment, index.header.target_version));
}

SegmentMessage DeltaSender::message(const SegmentName& name) const {
  const std::size_t position = position_of(name);
  return {name, pending_->changes[position].encoded,
          pending_->index.segments[position].payload_hash};
}

std::vector<std::byte> DeltaSender::base_elements(std::size_t position) const {
  const DeltaSegment& segment = pending_->index.segments[position];
  std::vector<std::byte> scratch;
  const auto elements =
      baseline_[segment.region].memory.read(segment.first_element, segment.elements, scratch);
  return {elements.begin(), elements.end()};
}

SegmentMessage DeltaSender::rewrite(const RewriteRequest& request) const {
  const std::size_t position = position_of(request.name);
  const std::vector<std::byte> old_elements = base_elements(position);
  std::vector<std::byte> new_elements = old_elements;
  if (!reach_target(pending_->index, position, pending_->changes[position].encoded, new_elements)) {
    throw Error(
        ErrorCode::check_failed,
        fmt::format("region {} segment {}: the baseline was changed since version {} was prepared",
                    request.name.region, request.name.segment, request.name.target_version));
  }
  const int width =
      pending_->index.regions[pending_->index.segments[position].region].element_bytes;
  SegmentMessage message{request.name,
                         encode_segment(old_elements, new_elements, width, request.mode), 0};
  message.payload_hash = hash64(message.encoded.payload);
  return message;
}

std::vector<SegmentName> DeltaSender::names() const {
  const DeltaIndex& index = this->index();
  std::vector<SegmentName> names;
  for (std::size_t i = 0; i < index.segments.size(); ++i) {
    const DeltaSegment& segment = index.segments[i];
    if (segment.mode == DeltaMode::empty) continue;
    const DeltaRegion& region = index.regions[segment.region];
    names.push_back({index.header.target_version, region.id,
                     static_cast<std::uint32_t>(i) - region.first_segment});
  }
  return names;
}

void DeltaSender::write_file(std::ostream& out) const {
  DeltaWriter writer(out, geometry(index().header, baseline_));
  for (const SegmentChange& change : pending_->changes) writer.add(change);
  writer.finish();
}

void DeltaSender::commit(std::uint64_t target_version) {
  const DeltaIndex& index = this->index();
  if (target_version != index.header.target_version) {
    throw Error(ErrorCode::bad_input,
                fmt::format("commit of version {}, but version {} is under way", target_version,
                            index.header.target_version));
  }
  // The same gate as a receiver's: a segment that got there before a failure is not changed twice.
  in_parallel(index.segments.size(), threads_, [&](std::size_t i) {
    const DeltaSegment& segment = index.segments[i];
    std::vector<std::byte> elements = base_elements(i);
    const SegmentState state = state_of(index, i, elements);
    if (state == SegmentState::target) return;
    if (state == SegmentState::torn ||
        !reach_target(index, i, pending_->changes[i].encoded, elements)) {
      throw Error(
          ErrorCode::check_failed,
          fmt::format("the baseline of version {} was changed since it was prepared", version_));
    }
    baseline_[segment.region].memory.write(segment.first_element, elements);
  });
  prints_.clear();
  for (const SegmentChange& change : pending_->changes)
    prints_.push_back({change.target_hash, change.target_fingerprint});
  version_ = target_version;
  state_ = index.header.target_state;
  pending_.reset();
}

}  // namespace refit
