#include "delta/receiver.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "delta/diff.h"
#include "delta/in_parallel.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ErrorCode::bad_input, "delta refused: " + problem);
}

bool same_place(const DeltaRegion& a, const DeltaRegion& b) {
  return a.id == b.id && a.tensor == b.tensor && a.element_bytes == b.element_bytes &&
         a.box == b.box;
}

bool writes_elements(DeltaMode mode) {
  return mode == DeltaMode::overwrite || mode == DeltaMode::dense || mode == DeltaMode::anchor;
}

}  // namespace

std::string_view to_string(Staged staged) {
  switch (staged) {
    case Staged::taken:
      return "taken";
    case Staged::repeated:
      return "repeated";
    case Staged::stale:
      return "stale";
    case Staged::unknown:
      return "unknown";
    case Staged::damaged:
      return "damaged";
  }
  return "?";
}

DeltaReceiver::DeltaReceiver(const Hash128& model_id, const Hash128& plan_hash,
                             std::vector<HeldRegion> regions, VersionStore& versions,
                             ReceiverOptions options)
    : model_id_(model_id),
      plan_hash_(plan_hash),
      regions_(std::move(regions)),
      versions_(versions),
      options_(std::move(options)) {}

void DeltaReceiver::announce(const DeltaIndex& index) {
  const VersionRecord record = versions_.read();
  const DeltaHeader& header = index.header;
  if (header.model_id != model_id_) {
    refuse(fmt::format("model_id is {}, these weights are of {}", to_hex(header.model_id),
                       to_hex(model_id_)));
  }
  if (header.plan_hash != plan_hash_) {
    refuse(fmt::format("plan_hash is {}, these regions are cut by plan {}",
                       to_hex(header.plan_hash), to_hex(plan_hash_)));
  }
  if (header.target_version < record.version ||
      (!header.anchor && header.target_version == record.version)) {
    refuse(fmt::format("it leads to version {}, the weights are {} already", header.target_version,
                       to_string(record)));
  }
  // Half applied weights can only be finished; an anchor replaces them all.
  if (record.applying && !header.anchor && header.target_state != record.next_state) {
    refuse(fmt::format("the weights are {} (state {}); send that delta again, or an anchor",
                       to_string(record), to_hex(record.next_state)));
  }
  if (!header.anchor && header.base_version != record.version) {
    refuse(
        fmt::format("base_version is {}, the weights are {}; send the deltas in between, a merged "
                    "one, or an anchor",
                    header.base_version, to_string(record)));
  }
  if (!header.anchor && header.base_state != record.state) {
    refuse(fmt::format("base_state is {}, the weights are {}: another history",
                       to_hex(header.base_state), to_string(record)));
  }
  if (index.regions.size() != regions_.size()) {
    refuse(
        fmt::format("it has {} regions, {} are held here", index.regions.size(), regions_.size()));
  }
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    if (!same_place(index.regions[r], regions_[r].region)) {
      refuse(fmt::format("region {} is not the region {} held here: other id, tensor, width or box",
                         index.regions[r].id, regions_[r].region.id));
    }
  }

  if (index_ == index) return;
  index_ = index;
  has_base_ = false;
  reached_ = false;
  slots_.assign(index.segments.size(), {});
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (index.segments[i].mode == DeltaMode::empty) slots_[i].encoded.emplace();
  }
}

const DeltaIndex& DeltaReceiver::announced() const {
  if (!index_) throw Error(ErrorCode::bad_input, "no delta was announced; announce one first");
  return *index_;
}

SegmentName DeltaReceiver::name_of(std::size_t position) const {
  const DeltaRegion& region = index_->regions[index_->segments[position].region];
  return {index_->header.target_version, region.id,
          static_cast<std::uint32_t>(position) - region.first_segment};
}

Staged DeltaReceiver::stage(SegmentMessage message) {
  if (!index_ || message.name.target_version != index_->header.target_version) return Staged::stale;
  const std::optional<std::size_t> position =
      find_segment(*index_, message.name.region, message.name.segment);
  if (!position) return Staged::unknown;
  const DeltaSegment& segment = index_->segments[*position];
  if (hash64(message.encoded.payload) != message.payload_hash) return Staged::damaged;
  const bool as_announced = message.encoded.mode == segment.mode &&
                            message.encoded.changed == segment.changed &&
                            message.encoded.threshold == segment.threshold &&
                            message.payload_hash == segment.payload_hash;
  if (!as_announced && !writes_elements(message.encoded.mode)) return Staged::damaged;
  Slot& slot = slots_[*position];
  if (slot.encoded && (slot.payload_hash == message.payload_hash || as_announced)) {
    return Staged::repeated;  // a rewritten segment is never worse than the announced one
  }
  slot = {std::move(message.encoded), message.payload_hash, !as_announced};
  return Staged::taken;
}

std::vector<SegmentName> DeltaReceiver::missing() const {
  announced();
  std::vector<SegmentName> names;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].encoded) names.push_back(name_of(i));
  }
  return names;
}

std::vector<RewriteRequest> DeltaReceiver::check_base() {
  announced();
  std::vector<RewriteRequest> requests;
  if (index_->header.anchor || versions_.read().applying) return requests;
  std::vector<char> is_stray(slots_.size(), 0);
  in_parallel(slots_.size(), options_.threads, [&](std::size_t i) {
    const DeltaSegment& segment = index_->segments[i];
    if (slots_[i].rewritten) return;
    std::vector<std::byte> scratch;
    const auto elements =
        regions_[segment.region].memory.read(segment.first_element, segment.elements, scratch);
    is_stray[i] = hash64(elements) != segment.base_hash;
  });
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (is_stray[i] != 0) requests.push_back({name_of(i), DeltaMode::dense});
  }
  has_base_ = requests.empty();
  return requests;
}

void DeltaReceiver::require_base() {
  if (has_base_) return;
  const auto strays = check_base();
  if (strays.empty()) return;
  const SegmentName& name = strays.front().name;
  throw Error(
      ErrorCode::check_failed,
      fmt::format("region {} segment {}: the weights are not those of version {}, they were "
                  "changed since; nothing was applied, send new elements or an anchor",
                  name.region, name.segment, index_->header.base_version));
}

VersionRecord DeltaReceiver::applying_record(const VersionRecord& record) const {
  return {record.version, record.state, true, index_->header.target_version,
          index_->header.target_state};
}

std::vector<RewriteRequest> DeltaReceiver::apply() {
  announced();
  const auto absent =
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.encoded; });
  if (absent > 0) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{} of {} segments of version {} are missing; ask for them again",
                            absent, slots_.size(), index_->header.target_version));
  }
  const VersionRecord record = versions_.read();
  if (!record.applying && !index_->header.anchor) require_base();
  // From here on a crash finds the record: weights that are neither version are not taken for one.
  if (!versions_.compare_and_set(record, applying_record(record))) {
    throw Error(
        ErrorCode::check_failed,
        fmt::format("the version is no longer {}; another apply is under way", to_string(record)));
  }
  std::vector<std::optional<RewriteRequest>> wanted(slots_.size());
  in_parallel(slots_.size(), options_.threads, [&](std::size_t i) { wanted[i] = apply_one(i); });
  std::vector<RewriteRequest> requests;
  for (const auto& request : wanted) {
    if (request) requests.push_back(*request);
  }
  reached_ = requests.empty();
  return requests;
}

std::optional<RewriteRequest> DeltaReceiver::apply_one(std::size_t position) {
  const DeltaSegment& segment = index_->segments[position];
  const RegionMemory& memory = regions_[segment.region].memory;
  std::vector<std::byte> scratch;
  const auto held = memory.read(segment.first_element, segment.elements, scratch);
  const SegmentState state = state_of(*index_, position, held);
  if (state == SegmentState::target) return std::nullopt;
  const Slot& slot = slots_[position];
  const RewriteRequest request{name_of(position), slot.rewritten || state == SegmentState::base
                                                      ? DeltaMode::dense
                                                      : DeltaMode::overwrite};
  if (state == SegmentState::torn && !writes_elements(slot.encoded->mode)) return request;
  std::vector<std::byte> elements(held.begin(), held.end());
  if (!reach_target(*index_, position, *slot.encoded, elements)) return request;
  if (options_.before_write) options_.before_write(position);
  memory.write(segment.first_element, elements);
  const auto written = memory.read(segment.first_element, segment.elements, scratch);
  if (hash64(written) != segment.target_hash) return request;
  return std::nullopt;
}

VersionRecord DeltaReceiver::commit() {
  if (!reached_) {
    throw Error(ErrorCode::bad_input, "commit: not all weights are the target; apply first");
  }
  if (options_.flush) options_.flush();
  const VersionRecord record = versions_.read();
  const VersionRecord next{
      index_->header.target_version, index_->header.target_state, false, 0, {}};
  const bool ours =
      record.applying && record.next_state == next.state && record.next_version == next.version;
  if (!ours || !versions_.compare_and_set(record, next)) {
    throw Error(ErrorCode::check_failed,
                fmt::format("commit of version {}: the record says {}; another apply came between",
                            next.version, to_string(record)));
  }
  index_.reset();
  slots_.clear();
  reached_ = false;
  return next;
}

}  // namespace refit
