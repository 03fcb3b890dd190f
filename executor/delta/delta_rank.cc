#include "executor/delta/delta_rank.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "executor/clock.h"
#include "executor/detail/frame.h"

namespace refit {
namespace {

std::byte* bytes_in(std::string& text) { return reinterpret_cast<std::byte*>(text.data()); }

std::uint64_t place_hash(const std::vector<IntervalSet>& sides) {
  std::vector<std::int64_t> numbers;
  for (const IntervalSet& side : sides) {
    numbers.push_back(-1);
    for (const Interval& interval : side.intervals()) {
      numbers.push_back(interval.begin);
      numbers.push_back(interval.end);
    }
  }
  return hash64(std::as_bytes(std::span(numbers)));
}

}  // namespace

DeltaRank::DeltaRank(const Refit& refit, const Schedule& schedule, const DeltaGeometry& geometry,
                     Rank rank, const DeltaRunOptions& options, DeltaMode mode)
    : refit_(refit),
      schedule_(schedule),
      geometry_(geometry),
      rank_(rank),
      options_(options),
      mode_(mode) {
  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    const TensorClass& tensor_class = refit.classes[c];
    const ClassId id(static_cast<std::int64_t>(c));
    auto& trainer = trainers_.emplace_back();
    WeightShard source(tensor_class, id, tensor_class.source, rank);
    if (!source.empty()) {
      TrainedWeights updates(options.model, id, source);
      trainer.emplace(Trainer{std::move(source), {}, std::move(updates)});
    }
    auto& receiver = receivers_.emplace_back();
    WeightShard destination(tensor_class, id, tensor_class.destination, rank);
    if (!destination.empty()) {
      std::ranges::fill(destination.bytes(), kPoison);
      TrainedWeights expected(options.model, id, destination);
      receiver.emplace(Receiver{std::move(destination), std::move(expected)});
    }
  }
  find_chunks();
}

bool DeltaRank::owns(const Parcel& parcel) const {
  return std::ranges::binary_search(parcel.owners, rank_);
}

bool DeltaRank::demands(const Parcel& parcel) const {
  return std::ranges::binary_search(parcel.demanders, rank_);
}

template <class Visit>
void DeltaRank::for_each_chunk(const Op& op, const Visit& visit) const {
  for (const ParcelId id : schedule_.cargos[op.cargo.index()].parcels) {
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk)
      visit(schedule_.parcels[id.index()], geometry_.chunk(id, chunk));
  }
}

// What a rank owns but neither sends nor needs is another owner's to compare.
void DeltaRank::find_chunks() {
  std::set<std::size_t> coded;
  for (std::size_t p = 0; p < schedule_.parcels.size(); ++p) {
    const Parcel& parcel = schedule_.parcels[p];
    if (!demands(parcel)) continue;
    for (int c = 0; c < parcel.chunks; ++c) {
      const std::size_t chunk = geometry_.chunk(ParcelId(static_cast<std::int64_t>(p)), c);
      demanded_.push_back(chunk);
      if (owns(parcel)) coded.insert(chunk);
    }
  }
  for (const Op& op : schedule_.ops) {
    const bool sends =
        op.kind == OpKind::all_gather
            ? std::ranges::count(schedule_.groups[op.group.index()].ranks, rank_) > 0
            : (op.kind == OpKind::transfer || op.kind == OpKind::broadcast) && op.src == rank_;
    if (!sends) continue;
    for_each_chunk(op, [&](const Parcel& parcel, std::size_t chunk) {
      if (owns(parcel)) coded.insert(chunk);
    });
  }
  coded_.assign(coded.begin(), coded.end());
}

void DeltaRank::make_sender(std::uint64_t version) {
  for (auto& trainer : trainers_) {
    if (!trainer) continue;
    trainer->updates.step_to(version);
    trainer->baseline.resize(trainer->weights.bytes().size());
    trainer->updates.write(trainer->baseline);
    std::ranges::copy(trainer->baseline, trainer->weights.bytes().begin());
  }
  std::vector<HeldRegion> held;
  for (const std::size_t chunk : coded_) {
    for (const PlacedRegion& placed : geometry_.regions(chunk)) {
      Trainer& trainer = *trainers_[placed.delta.tensor];
      held.push_back({placed.delta, trainer.weights.place(placed.region, trainer.baseline)});
    }
  }
  DeltaHeader identity;
  identity.plan_hash = geometry_.hash();
  identity.segment_elements = geometry_.segment_elements();
  sender_.emplace(identity, std::move(held), version);
}

std::vector<HeldRegion> DeltaRank::held_by_receiver() {
  std::vector<HeldRegion> held;
  for (const std::size_t chunk : demanded_) {
    for (const PlacedRegion& placed : geometry_.regions(chunk))
      held.push_back({placed.delta, receivers_[placed.delta.tensor]->weights.place(placed.region)});
  }
  return held;
}

void DeltaRank::make_receiver(std::uint64_t version, const Hash128& state) {
  if (demanded_.empty()) return;
  VersionRecord record;
  record.version = version;
  record.state = state;
  versions_.emplace(record);
  auto held = held_by_receiver();
  ReceiverOptions receiver;
  if (options_.applying) {
    std::vector<std::uint32_t> class_of_segment;
    for (const HeldRegion& one : held) {
      for (std::uint64_t at = 0; at < one.region.box.elements(); at += geometry_.segment_elements())
        class_of_segment.push_back(one.region.tensor);
    }
    receiver.before_write = [this, class_of_segment = std::move(class_of_segment)](std::size_t i) {
      options_.applying(rank_, version_, receivers_[class_of_segment[i]]->weights.bytes());
    };
  }
  receiver_.emplace(Hash128{}, geometry_.hash(), std::move(held), *versions_, std::move(receiver));
}

void DeltaRank::load(std::uint64_t version) {
  version_ = version;
  make_sender(version);
  for (auto& receiver : receivers_) {
    if (!receiver) continue;
    receiver->expected.step_to(version);
    receiver->expected.write(receiver->weights.bytes());
  }
  // What a sender of these very weights would say that their state is.
  DeltaHeader identity;
  identity.plan_hash = geometry_.hash();
  identity.segment_elements = geometry_.segment_elements();
  make_receiver(version, DeltaSender(identity, held_by_receiver(), version).state());
}

PayloadName DeltaRank::name(std::size_t chunk) const {
  return {geometry_.mark(), base_version_, version_, static_cast<std::uint32_t>(chunk),
          anchor_ ? 1u : 0u};
}

// `first` is its first segment in the sender's index.
std::string DeltaRank::coded_payload(std::size_t chunk, std::size_t first) const {
  return write_payload(name(chunk), sender_->index(), first, geometry_.segments(chunk),
                       [&](std::size_t i) -> decltype(auto) { return sender_->code(i); });
}

std::vector<CodedChunk> DeltaRank::begin(std::uint64_t version, bool anchor) {
  payloads_.clear();
  buckets_.clear();
  base_version_ = anchor ? version : version_;
  version_ = version;
  anchor_ = anchor;
  if (anchor) {
    make_sender(version);
    make_receiver(version, {});
  } else {
    for (auto& trainer : trainers_) {
      if (!trainer) continue;
      trainer->updates.step_to(version);
      trainer->updates.write(trainer->weights.bytes());
    }
  }
  const double start = thread_cpu_s();
  if (anchor) {
    sender_->prepare_anchor();
  } else {
    std::vector<RegionView> weights;
    for (const std::size_t chunk : coded_) {
      for (const PlacedRegion& placed : geometry_.regions(chunk))
        weights.push_back(trainers_[placed.delta.tensor]->weights.view(placed.region));
    }
    sender_->prepare(weights, version, mode_);
  }
  const DeltaIndex& index = sender_->index();
  std::vector<CodedChunk> said;
  std::size_t first = 0;
  for (const std::size_t chunk : coded_) {
    const std::size_t count = geometry_.segments(chunk);
    CodedChunk one{static_cast<std::uint32_t>(chunk), 0, 0, 0};
    for (std::size_t i = first; i < first + count; ++i) one.changed += index.segments[i].changed;
    std::string& payload = payloads_[chunk];
    payload = coded_payload(chunk, first);
    one.bytes = payload.size();
    one.code_bytes = payload_code_bytes(payload, count);
    said.push_back(one);
    first += count;
  }
  coding_work_ = {index.dense_bytes(), thread_cpu_s() - start};
  return said;
}

void DeltaRank::expect(const std::vector<std::uint64_t>& payload_bytes) {
  payload_bytes_ = payload_bytes;
}

std::vector<StridedBox> DeltaRank::boxes(const Op& op, bool sending) {
  std::vector<StridedBox> boxes;
  for_each_chunk(op, [&](const Parcel&, std::size_t chunk) {
    if (payload_bytes_[chunk] == 0) return;
    std::string& payload = payloads_[chunk];
    if (sending) {
      REFIT_CHECK(payload.size() == payload_bytes_[chunk]);
    } else {
      payload.assign(payload_bytes_[chunk], '\0');
    }
    boxes.push_back(contiguous(bytes_in(payload), static_cast<std::int64_t>(payload.size())));
  });
  return boxes;
}

std::byte* DeltaRank::bucket(const Op& op) {
  const auto found = buckets_.try_emplace({op.cargo.value, op.chunk_begin, op.chunk_end});
  std::string& bucket = found.first->second;
  if (found.second) {
    for_each_chunk(op, [&](const Parcel&, std::size_t chunk) {
      const auto own = payloads_.find(chunk);
      if (own != payloads_.end()) {
        bucket += own->second;
      } else {
        bucket.append(payload_bytes_[chunk], '\0');
      }
    });
  }
  return bytes_in(bucket);
}

void DeltaRank::unpack_bucket(const Op& op) {
  const std::byte* from = bucket(op);
  for_each_chunk(op, [&](const Parcel& parcel, std::size_t chunk) {
    const std::uint64_t bytes = payload_bytes_[chunk];
    if (demands(parcel) && !payloads_.contains(chunk))
      payloads_[chunk].assign(reinterpret_cast<const char*>(from), bytes);
    from += bytes;
  });
}

void DeltaRank::drop_bucket(const Op& op) {
  buckets_.erase({op.cargo.value, op.chunk_begin, op.chunk_end});
}

Lacks DeltaRank::stage() {
  Lacks result;
  apply_work_ = {};
  if (!receiver_) return result;
  for (DamagedPayload& damaged :
       stage_payloads(geometry_, demanded_, name(0), fmt::format("rank {}", rank_.value), payloads_,
                      *receiver_)) {
    if (result.lacks.empty()) result.why = std::move(damaged.why);
    result.lacks.push_back({static_cast<std::uint32_t>(damaged.chunk)});
  }
  if (!result.lacks.empty()) return result;
  const double start = thread_cpu_s();
  result = lacks_of(receiver_->check_base(),
                    fmt::format("have changed since version {}", base_version_));
  apply_work_.cpu_s += thread_cpu_s() - start;
  return result;
}

Lacks DeltaRank::lacks_of(const std::vector<RewriteRequest>& requests,
                          std::string_view what) const {
  Lacks result;
  for (const RewriteRequest& request : requests) {
    result.lacks.push_back(
        {static_cast<std::uint32_t>(geometry_.chunk_of_region(request.name.region)), 1,
         request.name.region, request.name.segment, static_cast<std::uint32_t>(request.mode)});
  }
  if (!requests.empty()) {
    result.why = fmt::format("rank {}: {} segments {}, the first in region {}; load an anchor",
                             rank_.value, requests.size(), what, requests.front().name.region);
  }
  return result;
}

Lacks DeltaRank::apply() {
  if (!receiver_) return {};
  const double start = thread_cpu_s();
  const Lacks result = lacks_of(
      receiver_->apply(), fmt::format("are neither version {} nor {}", base_version_, version_));
  apply_work_.cpu_s += thread_cpu_s() - start;
  if (!result.lacks.empty()) return result;
  apply_work_.bytes = 0;
  for (const auto& receiver : receivers_)
    if (receiver) apply_work_.bytes += receiver->weights.bytes().size();
  return result;
}

std::string DeltaRank::answer(const Lack& lack) const {
  if (lack.of_segment == 0) {
    std::size_t first = 0;
    for (const std::size_t chunk : coded_) {
      if (chunk == lack.chunk) return coded_payload(chunk, first);
      first += geometry_.segments(chunk);
    }
    REFIT_CHECK(false && "a rank is asked for what it has coded");
  }
  const EncodedSegment segment =
      sender_->rewrite({{version_, lack.region, lack.segment}, static_cast<DeltaMode>(lack.mode)})
          .encoded;
  std::string out;
  detail::put(out, segment.mode);
  detail::put(out, segment.threshold);
  detail::put(out, segment.changed);
  out.append(reinterpret_cast<const char*>(segment.payload.data()), segment.payload.size());
  return out;
}

void DeltaRank::take(const Lack& lack, std::string_view answer) {
  if (lack.of_segment == 0) {
    payloads_[lack.chunk] = answer;
    return;
  }
  SegmentMessage message;
  message.name = {version_, lack.region, lack.segment};
  message.encoded.mode = detail::take<DeltaMode>(answer);
  message.encoded.threshold = detail::take<std::uint8_t>(answer);
  message.encoded.changed = detail::take<std::uint32_t>(answer);
  const auto payload = std::as_bytes(std::span(answer.data(), answer.size()));
  message.encoded.payload.assign(payload.begin(), payload.end());
  message.payload_hash = hash64(message.encoded.payload);
  receiver_->stage(std::move(message));
}

void DeltaRank::commit() {
  if (receiver_) receiver_->commit();
  sender_->commit(version_);
}

std::optional<VersionRecord> DeltaRank::record() {
  if (!versions_) return std::nullopt;
  return versions_->read();
}

std::int64_t DeltaRank::count_wrong(std::uint64_t version, std::vector<WrongByte>& examples) {
  std::int64_t wrong = 0;
  std::vector<std::byte> expected;
  for (std::size_t c = 0; c < receivers_.size(); ++c) {
    if (!receivers_[c]) continue;
    Receiver& receiver = *receivers_[c];
    const auto held = receiver.weights.bytes();
    expected.resize(held.size());
    receiver.expected.step_to(version);
    receiver.expected.write(expected);
    if (std::ranges::equal(held, expected)) continue;
    std::size_t at = 0;
    const auto width = static_cast<std::size_t>(receiver.weights.element_bytes());
    for (const ElementRun& run : receiver.weights.runs()) {
      for (std::int64_t i = run.first; i < run.first + run.count; ++i, at += width) {
        std::int64_t here = 0;
        for (std::size_t b = at; b < at + width; ++b) here += held[b] != expected[b] ? 1 : 0;
        wrong += here;
        if (here > 0 && examples.size() < kMostExamples)
          examples.push_back({rank_, refit_.classes[c].name, i});
      }
    }
  }
  return wrong;
}

std::vector<ShardPrint> DeltaRank::prints() const {
  std::vector<ShardPrint> prints;
  const auto add = [&](std::size_t c, const WeightShard& shard, bool is_destination) {
    prints.push_back({static_cast<std::uint32_t>(c), is_destination ? 1u : 0u,
                      place_hash(shard.sides()), static_cast<std::uint64_t>(shard.elements()),
                      shard.fingerprint()});
  };
  for (std::size_t c = 0; c < trainers_.size(); ++c) {
    if (trainers_[c]) add(c, trainers_[c]->weights, false);
    if (receivers_[c]) add(c, receivers_[c]->weights, true);
  }
  return prints;
}

}  // namespace refit
