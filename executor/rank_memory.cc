#include "executor/rank_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/units.h"

namespace refit {
namespace {

constexpr std::size_t kMostExamples = 5;
constexpr std::byte kPoison{0xa5};

// Calls visit(global element index of the first element of a run, local element index, run length).
template <class Visit>
void for_each_run(const std::vector<IntervalSet>& sides, const std::vector<std::int64_t>& shape,
                  const Visit& visit) {
  const std::size_t dims = shape.size();
  std::vector<std::vector<std::int64_t>> rows(dims - 1);  // outer dims, written out
  for (std::size_t d = 0; d + 1 < dims; ++d) {
    for (const Interval& interval : sides[d].intervals()) {
      for (std::int64_t r = interval.begin; r < interval.end; ++r) rows[d].push_back(r);
    }
    if (rows[d].empty()) return;
  }
  std::vector<std::size_t> at(dims - 1, 0);
  std::int64_t local = 0;
  while (true) {
    std::int64_t global = 0;
    for (std::size_t d = 0; d + 1 < dims; ++d) global = (global + rows[d][at[d]]) * shape[d + 1];
    for (const Interval& interval : sides[dims - 1].intervals()) {
      visit(global + interval.begin, local, interval.size());
      local += interval.size();
    }
    std::size_t d = dims - 1;
    while (d > 0 && ++at[d - 1] == rows[d - 1].size()) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

std::uint64_t element_bits(std::uint64_t seed, std::int64_t tensor_class, std::int64_t element) {
  // The finaliser of splitmix64 over a counter: cheap, and every bit depends on every input bit.
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(tensor_class) * 0xd1b54a32d192ed03u +
                    static_cast<std::uint64_t>(element);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

RankMemory::RankMemory(const Refit& refit, const Schedule& schedule, Rank rank)
    : refit_(refit), schedule_(schedule), rank_(rank) {
  try {
    for (const TensorClass& c : refit.classes) {
      source_.push_back(make_shard(c, c.source));
      destination_.push_back(make_shard(c, c.destination));
    }
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::environment,
                fmt::format("rank {}: its shards do not fit in memory; scale the scenario down", rank.value));
  }
}

RankMemory::Shard RankMemory::make_shard(const TensorClass& c, const Layout& layout) const {
  Shard shard;
  const std::vector<Rank> ranks = layout.mesh().ranks();
  const auto at = std::find(ranks.begin(), ranks.end(), rank_);
  if (at == ranks.end()) return shard;
  shard.sides = layout.shard(static_cast<int>(at - ranks.begin()));
  std::int64_t elements = 1;
  for (const IntervalSet& side : shard.sides) elements *= side.size();
  shard.bytes.resize(static_cast<std::size_t>(elements * bytes_per_element(c.dtype)));
  return shard;
}

void RankMemory::prepare(std::uint64_t seed) {
  scratch_.clear();
  buckets_.clear();
  for (std::size_t c = 0; c < refit_.classes.size(); ++c) {
    std::fill(destination_[c].bytes.begin(), destination_[c].bytes.end(), kPoison);
    Shard& shard = source_[c];
    if (shard.bytes.empty()) continue;
    const auto size = static_cast<std::size_t>(bytes_per_element(refit_.classes[c].dtype));
    for_each_run(shard.sides, refit_.classes[c].shape(), [&](std::int64_t global, std::int64_t local, std::int64_t n) {
      std::byte* out = shard.bytes.data() + static_cast<std::size_t>(local) * size;
      for (std::int64_t i = 0; i < n; ++i, out += size) {
        const std::uint64_t bits = element_bits(seed, static_cast<std::int64_t>(c), global + i);
        std::memcpy(out, &bits, size);
      }
    });
  }
}

std::int64_t RankMemory::count_wrong(std::uint64_t seed, std::vector<WrongByte>& examples) const {
  std::int64_t wrong = 0;
  for (std::size_t c = 0; c < refit_.classes.size(); ++c) {
    const Shard& shard = destination_[c];
    if (shard.bytes.empty()) continue;
    const auto size = static_cast<std::size_t>(bytes_per_element(refit_.classes[c].dtype));
    for_each_run(shard.sides, refit_.classes[c].shape(), [&](std::int64_t global, std::int64_t local, std::int64_t n) {
      const std::byte* in = shard.bytes.data() + static_cast<std::size_t>(local) * size;
      for (std::int64_t i = 0; i < n; ++i, in += size) {
        const std::uint64_t bits = element_bits(seed, static_cast<std::int64_t>(c), global + i);
        std::byte expected[sizeof bits];
        std::memcpy(expected, &bits, sizeof bits);
        if (std::memcmp(in, expected, size) == 0) continue;
        for (std::size_t b = 0; b < size; ++b) wrong += in[b] != expected[b] ? 1 : 0;
        if (examples.size() < kMostExamples) examples.push_back({rank_, refit_.classes[c].name, global + i});
      }
    });
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
  for (const Parcel& parcel : schedule_.parcels) {
    if (!owns(parcel) || !demands(parcel)) continue;
    for (const Fragment& fragment : parcel.fragments) {
      const std::size_t c = fragment.tensor_class.index();
      const int size = bytes_per_element(refit_.classes[c].dtype);
      const StridedBox from = locate(source_[c].bytes.data(), source_[c].sides, fragment.region, size);
      const StridedBox to = locate(destination_[c].bytes.data(), destination_[c].sides, fragment.region, size);
      BoxCursor reader({&from, 1}), writer({&to, 1});
      copy(reader, writer, from.bytes());
    }
  }
}

void RankMemory::append_chunk(ParcelId id, int chunk, std::vector<Shard>& shards, std::vector<StridedBox>& boxes) {
  const Parcel& parcel = schedule_.parcels[id.index()];
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
  for (const ParcelId id : schedule_.cargos[op.cargo.index()].parcels) {
    const Parcel& parcel = schedule_.parcels[id.index()];
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
      if (sending && owns(parcel)) {
        append_chunk(id, chunk, source_, boxes);
      } else if (demands(parcel)) {
        append_chunk(id, chunk, destination_, boxes);
      } else {
        auto [at, is_new] = scratch_.try_emplace({id.value, chunk});
        if (is_new) at->second.resize(static_cast<std::size_t>(chunk_bytes(refit_, parcel, chunk)));
        boxes.push_back(contiguous(at->second.data(), static_cast<std::int64_t>(at->second.size())));
      }
    }
  }
  return boxes;
}

std::byte* RankMemory::bucket(const Op& op) {
  auto [at, is_new] = buckets_.try_emplace({op.cargo.value, op.chunk_begin, op.chunk_end});
  if (is_new) {
    at->second.resize(static_cast<std::size_t>(op.bytes));
    fill_bucket(op, at->second.data());
  }
  return at->second.data();
}

void RankMemory::fill_bucket(const Op& op, std::byte* to) {
  for (const ParcelId id : schedule_.cargos[op.cargo.index()].parcels) {
    const Parcel& parcel = schedule_.parcels[id.index()];
    const bool mine = owns(parcel);
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
      const std::int64_t bytes = chunk_bytes(refit_, parcel, chunk);
      if (mine && bytes > 0) {
        std::vector<StridedBox> from;
        append_chunk(id, chunk, source_, from);
        const StridedBox box = contiguous(to, bytes);
        BoxCursor reader(from), writer({&box, 1});
        copy(reader, writer, bytes);
      }
      to += bytes;
    }
  }
}

void RankMemory::unpack_bucket(const Op& op) {
  std::byte* from = bucket(op);
  for (const ParcelId id : schedule_.cargos[op.cargo.index()].parcels) {
    const Parcel& parcel = schedule_.parcels[id.index()];
    const bool mine = demands(parcel);
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
      const std::int64_t bytes = chunk_bytes(refit_, parcel, chunk);
      if (mine && bytes > 0) {
        std::vector<StridedBox> to;
        append_chunk(id, chunk, destination_, to);
        const StridedBox box = contiguous(from, bytes);
        BoxCursor reader({&box, 1}), writer(to);
        copy(reader, writer, bytes);
      }
      from += bytes;
    }
  }
}

void RankMemory::drop_bucket(const Op& op) { buckets_.erase({op.cargo.value, op.chunk_begin, op.chunk_end}); }

}  // namespace refit
