#include "executor/rank_memory.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/units.h"

namespace refit {

RankMemory::RankMemory(const Refit& refit, const Schedule& schedule, Rank rank, MemorySpace& space,
                       bool publishes)
    : refit_(refit), schedule_(&schedule), rank_(rank), space_(space) {
  for (const TensorClass& c : refit.classes) {
    source_.push_back(make_shard(c, c.source));
    destination_.push_back(make_shard(c, c.destination));
    if (publishes) published_.push_back(make_shard(c, c.destination));
  }
}

SpaceBuffer RankMemory::room(std::int64_t bytes) {
  try {
    return SpaceBuffer(space_, bytes);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::environment,
                fmt::format("rank {}: no room for {}; its shards and scratch do not fit in memory, "
                            "scale the scenario down",
                            rank_.value, format_bytes(static_cast<double>(bytes))));
  }
}

RankMemory::Shard RankMemory::make_shard(const TensorClass& c, const Layout& layout) {
  Shard shard;
  const std::vector<Rank> ranks = layout.mesh().ranks();
  const auto at = std::find(ranks.begin(), ranks.end(), rank_);
  if (at == ranks.end()) return shard;
  shard.sides = layout.shard(static_cast<int>(at - ranks.begin()));
  if (shard.sides.empty()) return shard;  // a rank of the mesh that gets nothing
  std::int64_t elements = 1;
  for (const IntervalSet& side : shard.sides) elements *= side.size();
  shard.bytes = room(elements * bytes_per_element(c.dtype));
  return shard;
}

void RankMemory::prepare(std::uint64_t seed) {
  scratch_.clear();
  buckets_.clear();
  for (std::size_t c = 0; c < refit_.classes.size(); ++c) {
    Shard& to = destination_[c];
    if (!to.bytes.empty()) space_.poison(to.bytes.data(), to.bytes.bytes());
    Shard& from = source_[c];
    if (!from.bytes.empty()) space_.fill(from.bytes.data(), content(seed, c, from));
  }
}

void RankMemory::follow(const Schedule& schedule) {
  REFIT_CHECK(schedule.parcels == schedule_->parcels);
  scratch_.clear();
  buckets_.clear();
  schedule_ = &schedule;
}

ShardContent RankMemory::content(std::uint64_t seed, std::size_t c, const Shard& shard) const {
  return {seed, static_cast<std::int64_t>(c), bytes_per_element(refit_.classes[c].dtype),
          shard.sides, refit_.classes[c].shape()};
}

std::int64_t RankMemory::count_wrong(std::uint64_t seed, std::vector<WrongByte>& examples) const {
  return count_wrong(destination_, seed, examples);
}

std::int64_t RankMemory::count_wrong_published(std::uint64_t seed) const {
  std::vector<WrongByte> nobody_asks;
  return count_wrong(published_, seed, nobody_asks);
}

void RankMemory::commit() {
  if (!published_.empty()) std::swap(destination_, published_);
}

std::int64_t RankMemory::count_wrong(const std::vector<Shard>& shards, std::uint64_t seed,
                                     std::vector<WrongByte>& examples) const {
  std::int64_t wrong = 0;
  for (std::size_t c = 0; c < shards.size(); ++c) {
    const Shard& shard = shards[c];
    if (shard.bytes.empty()) continue;
    const WrongBytes here = space_.check(shard.bytes.data(), content(seed, c, shard));
    wrong += here.count;
    for (const std::int64_t element : here.first) {
      if (examples.size() < kMostExamples)
        examples.push_back({rank_, refit_.classes[c].name, element});
    }
  }
  return wrong;
}

bool RankMemory::owns(const Parcel& parcel) const {
  return std::binary_search(parcel.owners.begin(), parcel.owners.end(), rank_);
}

bool RankMemory::demands(const Parcel& parcel) const {
  return std::binary_search(parcel.demanders.begin(), parcel.demanders.end(), rank_);
}

void RankMemory::copy_owned() {
  for (const Parcel& parcel : schedule_->parcels) {
    if (!owns(parcel) || !demands(parcel)) continue;
    for (const Fragment& fragment : parcel.fragments) {
      const std::size_t c = fragment.tensor_class.index();
      const int size = bytes_per_element(refit_.classes[c].dtype);
      const StridedBox from =
          locate(source_[c].bytes.data(), source_[c].sides, fragment.region, size);
      const StridedBox to =
          locate(destination_[c].bytes.data(), destination_[c].sides, fragment.region, size);
      space_.copy({&from, 1}, {&to, 1});
    }
  }
}

void RankMemory::append_chunk(ParcelId id, int chunk, std::vector<Shard>& shards,
                              std::vector<StridedBox>& boxes) {
  const Parcel& parcel = schedule_->parcels[id.index()];
  for (const Fragment& fragment : parcel.fragments) {
    const auto part = slice(fragment.region, chunk, parcel.chunks);
    if (!part) continue;
    Shard& shard = shards[fragment.tensor_class.index()];
    boxes.push_back(locate(shard.bytes.data(), shard.sides, *part,
                           bytes_per_element(refit_.classes[fragment.tensor_class.index()].dtype)));
  }
}

std::vector<StridedBox> RankMemory::boxes(const Op& op, bool sending) {
  std::vector<StridedBox> boxes;
  for (const ParcelId id : schedule_->cargos[op.cargo.index()].parcels) {
    const Parcel& parcel = schedule_->parcels[id.index()];
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
      if (sending && owns(parcel)) {
        append_chunk(id, chunk, source_, boxes);
      } else if (demands(parcel)) {
        append_chunk(id, chunk, destination_, boxes);
      } else {
        auto [at, is_new] = scratch_.try_emplace({id.value, chunk});
        if (sending && is_new) {
          throw Error(
              ErrorCode::bad_input,
              fmt::format("rank {} is to send parcel {}, which it got in a collective and does "
                          "not demand; this executor keeps such content for collectives only",
                          rank_.value, id.value));
        }
        if (is_new) at->second = room(chunk_bytes(refit_, parcel, chunk));
        boxes.push_back(contiguous(at->second.data(), at->second.bytes()));
      }
    }
  }
  return boxes;
}

std::byte* RankMemory::bucket(const Op& op) {
  auto [at, is_new] = buckets_.try_emplace({op.cargo.value, op.chunk_begin, op.chunk_end});
  if (is_new) {
    at->second = room(op.bytes);
    fill_bucket(op, at->second.data());
  }
  return at->second.data();
}

std::int64_t RankMemory::bytes_in(const Op& op, const Parcel& parcel) const {
  if (op.chunk_begin == 0 && op.chunk_end == parcel.chunks) return parcel.bytes;
  std::int64_t bytes = 0;
  for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk)
    bytes += chunk_bytes(refit_, parcel, chunk);
  return bytes;
}

// Most ranks have to do with few of a bucket's parcels, or none: nobody counts behind the last.
template <class Mine, class Each>
void RankMemory::each_chunk_of_mine(const Op& op, const Mine& mine, const Each& each) const {
  const std::vector<ParcelId>& ids = schedule_->cargos[op.cargo.index()].parcels;
  const auto parcel_of = [&](ParcelId id) -> const Parcel& {
    return schedule_->parcels[id.index()];
  };
  const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](ParcelId id) {
                      return mine(parcel_of(id));
                    }).base();
  std::int64_t at = 0;
  for (auto id = ids.begin(); id != last; ++id) {
    const Parcel& parcel = parcel_of(*id);
    if (!mine(parcel)) {
      at += bytes_in(op, parcel);
      continue;
    }
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
      const std::int64_t bytes = chunk_bytes(refit_, parcel, chunk);
      if (bytes > 0) each(*id, chunk, at, bytes);
      at += bytes;
    }
  }
}

void RankMemory::fill_bucket(const Op& op, std::byte* to) {
  each_chunk_of_mine(
      op, [&](const Parcel& parcel) { return owns(parcel); },
      [&](ParcelId id, int chunk, std::int64_t at, std::int64_t bytes) {
        std::vector<StridedBox> from;
        append_chunk(id, chunk, source_, from);
        const StridedBox box = contiguous(to + at, bytes);
        space_.copy(from, {&box, 1});
      });
}

void RankMemory::unpack_bucket(const Op& op) {
  std::byte* from = bucket(op);
  each_chunk_of_mine(
      op, [&](const Parcel& parcel) { return demands(parcel); },
      [&](ParcelId id, int chunk, std::int64_t at, std::int64_t bytes) {
        std::vector<StridedBox> to;
        append_chunk(id, chunk, destination_, to);
        const StridedBox box = contiguous(from + at, bytes);
        space_.copy({&box, 1}, to);
      });
}

void RankMemory::drop_bucket(const Op& op) {
  buckets_.erase({op.cargo.value, op.chunk_begin, op.chunk_end});
}

}  // namespace refit
