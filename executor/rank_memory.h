#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/strided_box.h"
#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit {

// What a wrong byte looks like when somebody has to find it.
struct WrongByte {
  Rank rank;
  std::string tensor;         // name of the class's first member
  std::int64_t element = 0;   // global, row-major over the class's shape
};

// The content of every element: a function of the run's seed, the tensor class and the element's
// global index, so that any rank can make and check it without a reference copy.
std::uint64_t element_bits(std::uint64_t seed, std::int64_t tensor_class, std::int64_t element);

// One rank's memory: its source shards, its destination shards, and scratch for cargo that it only
// hands on. Host memory; element addresses follow from the layouts alone.
class RankMemory {
 public:
  // Error(environment) if the shards do not fit in memory.
  RankMemory(const Refit& refit, const Schedule& schedule, Rank rank);

  Rank rank() const { return rank_; }

  // Fills the source shards with element_bits(seed, …), poisons the destination shards and forgets all
  // scratch.
  void prepare(std::uint64_t seed);

  // Device copies: what the rank both owns and demands goes from the source to the destination shard.
  void copy_owned();

  // Bytes of the destination shards that are not what they should be; the first few are noted.
  std::int64_t count_wrong(std::uint64_t seed, std::vector<WrongByte>& examples) const;

  // Where the op's content lies on this rank, as one stream of bytes in the op's order: cargo parcels
  // in order, their chunks in order, fragments in order. `sending`: from the source shards if the rank
  // owns a parcel, else from where it arrived. Receiving: the destination shards if it demands the
  // parcel, else scratch that is made on first use.
  std::vector<StridedBox> boxes(const Op& op, bool sending);

  // A collective's content in one contiguous buffer. It is made on first use, with what this rank owns
  // of it filled in, and kept until it is dropped.
  std::byte* bucket(const Op& op);
  // Takes the parcels that this rank demands out of it.
  void unpack_bucket(const Op& op);
  void drop_bucket(const Op& op);

 private:
  struct Shard {
    std::vector<IntervalSet> sides;  // empty if the rank holds nothing of the class
    std::vector<std::byte> bytes;
  };
  using ChunkKey = std::pair<std::int32_t, std::int32_t>;                    // parcel, chunk
  using BucketKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;    // cargo, begin, end

  Shard make_shard(const TensorClass& c, const Layout& layout) const;
  bool owns(const Parcel& parcel) const;
  bool demands(const Parcel& parcel) const;
  void append_chunk(ParcelId id, int chunk, std::vector<Shard>& shards, std::vector<StridedBox>& boxes);
  void fill_bucket(const Op& op, std::byte* to);

  const Refit& refit_;
  const Schedule& schedule_;
  Rank rank_;
  std::vector<Shard> source_, destination_;  // per class
  std::map<ChunkKey, std::vector<std::byte>> scratch_;
  std::map<BucketKey, std::vector<std::byte>> buckets_;
};

}  // namespace refit
