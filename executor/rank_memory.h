#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "executor/element_bits.h"
#include "executor/memory_space.h"
#include "executor/op_memory.h"
#include "executor/strided_box.h"
#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit {

// What a wrong byte looks like when somebody has to find it.
struct WrongByte {
  Rank rank;
  std::string tensor;        // name of the class's first member
  std::int64_t element = 0;  // global, row-major over the class's shape
};

// One rank's memory: its source shards, its destination shards, and scratch for cargo that it only
// hands on. Element addresses follow from the layouts alone; the bytes lie in `space`.
//
// With `publishes` the destination shards exist twice: a refit fills one set while an engine reads
// the other, and commit() exchanges them, so that it never sees a mixture.
class RankMemory : public OpMemory {
 public:
  // Error(environment) if the shards do not fit in memory.
  RankMemory(const Refit& refit, const Schedule& schedule, Rank rank,
             MemorySpace& space = host_memory(), bool publishes = false);

  Rank rank() const override { return rank_; }

  // Fills the source shards with element_bits(seed, …), poisons the destination shards and forgets
  // all scratch.
  void prepare(std::uint64_t seed);

  // Goes on with another schedule of the same parcels: the shards keep what they have, scratch is
  // forgotten.
  void follow(const Schedule& schedule);

  // Device copies: what the rank both owns and demands goes from the source to the destination
  // shard.
  void copy_owned();

  // Bytes of the destination shards that are not what they should be; the first few are noted.
  std::int64_t count_wrong(std::uint64_t seed, std::vector<WrongByte>& examples) const;

  // What has been received becomes what an engine reads. Nothing happens without `publishes`.
  void commit();
  // count_wrong of what an engine reads; `seed` is that of the refit that was committed last.
  std::int64_t count_wrong_published(std::uint64_t seed) const;

  // Sending: from the source shards if the rank owns a parcel, else from where it arrived.
  // Receiving: the destination shards if it demands the parcel, else scratch that is made on first
  // use.
  std::vector<StridedBox> boxes(const Op& op, bool sending) override;
  std::byte* bucket(const Op& op) override;
  void unpack_bucket(const Op& op) override;
  void drop_bucket(const Op& op) override;

 private:
  struct Shard {
    std::vector<IntervalSet> sides;  // empty if the rank holds nothing of the class
    SpaceBuffer bytes;
  };
  using ChunkKey = std::pair<std::int32_t, std::int32_t>;                  // parcel, chunk
  using BucketKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // cargo, begin, end

  SpaceBuffer room(std::int64_t bytes);
  Shard make_shard(const TensorClass& c, const Layout& layout);
  std::int64_t count_wrong(const std::vector<Shard>& shards, std::uint64_t seed,
                           std::vector<WrongByte>& examples) const;
  ShardContent content(std::uint64_t seed, std::size_t c, const Shard& shard) const;
  bool owns(const Parcel& parcel) const;
  bool demands(const Parcel& parcel) const;
  void append_chunk(ParcelId id, int chunk, std::vector<Shard>& shards,
                    std::vector<StridedBox>& boxes);
  void fill_bucket(const Op& op, std::byte* to);
  std::int64_t bytes_in(const Op& op, const Parcel& parcel) const;
  // Calls each(parcel, chunk, offset, bytes) for the bucket's chunks of parcels that are `mine`.
  template <class Mine, class Each>
  void each_chunk_of_mine(const Op& op, const Mine& mine, const Each& each) const;

  const Refit& refit_;
  const Schedule* schedule_;
  Rank rank_;
  MemorySpace& space_;
  std::vector<Shard> source_, destination_;  // per class
  std::vector<Shard> published_;             // as destination_, or empty
  std::map<ChunkKey, SpaceBuffer> scratch_;
  std::map<BucketKey, SpaceBuffer> buckets_;
};

}  // namespace refit
