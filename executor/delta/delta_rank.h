#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "delta/receiver.h"
#include "delta/sender.h"
#include "delta/version_store.h"
#include "executor/delta/delta_options.h"
#include "executor/delta/geometry.h"
#include "executor/delta/payload.h"
#include "executor/delta/weight_shard.h"
#include "executor/op_memory.h"
#include "executor/rank_memory.h"

namespace refit {

// What one rank says of a chunk that it has coded.
struct CodedChunk {
  std::uint32_t chunk = 0;
  std::uint32_t changed = 0;     // elements
  std::uint64_t bytes = 0;       // of the payload
  std::uint64_t code_bytes = 0;  // of these, without the head
};

// A rank's share of a tensor's fingerprint: of the elements that it holds on one side.
struct ShardPrint {
  std::uint32_t tensor = 0;
  std::uint32_t is_destination = 0;
  std::uint64_t place = 0;  // hash of which elements these are
  std::uint64_t elements = 0;
  std::uint64_t fingerprint = 0;
};

// What a receiver asks an owner of a chunk for once more: its payload, or a segment of it as new
// elements because what is there is neither version.
struct Lack {
  std::uint32_t chunk = 0;
  std::uint32_t of_segment = 0;  // 0: the payload; the others are 0 then
  std::uint32_t region = 0, segment = 0;
  std::uint32_t mode = 0;  // DeltaMode

  friend auto operator<=>(const Lack&, const Lack&) = default;
};

// What a step found in its way, and why; without any it is done.
struct Lacks {
  std::vector<Lack> lacks;
  std::string why;  // of the first
};

// Dense bytes that were gone through, and the processor time of it.
struct CodingWork {
  std::uint64_t bytes = 0;
  double cpu_s = 0;
};

// One rank of a refit that sends changes, version by version: the trainer's shards with their
// baseline, the receiver's shards, and the payloads in between. How these travel is not its
// concern, but for where they lie (OpMemory).
//
//   begin(v)      trainers step to version v, compare their shards with the baseline and code
//                 chunk by chunk what this rank sends or needs itself
//   expect(...)   the sizes of all payloads are known
//   ... payloads travel, over whichever ranks ...
//   stage()       all of them are whole and of this version, and lead on from what is held
//   apply()       the destination shards become the version, each segment verified
//   commit()      all ranks have done so: it is the baseline of the next
class DeltaRank : public OpMemory {
 public:
  DeltaRank(const Refit& refit, const Schedule& schedule, const DeltaGeometry& geometry, Rank rank,
            const DeltaRunOptions& options, DeltaMode mode);

  // Both sides have this version, as from one checkpoint; begin() goes on from there.
  void load(std::uint64_t version);

  // The first version of a run is an anchor: whoever holds nothing yet can begin with it, and so
  // can receivers whose layout is new.
  std::vector<CodedChunk> begin(std::uint64_t version, bool anchor);
  void expect(const std::vector<std::uint64_t>& payload_bytes);  // by chunk

  std::vector<StridedBox> boxes(const Op& op, bool sending) override;
  std::byte* bucket(const Op& op) override;
  void unpack_bucket(const Op& op) override;
  void drop_bucket(const Op& op) override;
  Rank rank() const override { return rank_; }

  const std::vector<std::size_t>& demanded() const { return demanded_; }  // chunks
  const std::vector<std::size_t>& coded() const { return coded_; }        // chunks
  std::string& payload(std::size_t chunk) { return payloads_[chunk]; }
  std::map<std::size_t, std::string>& payloads() { return payloads_; }

  // Nothing has happened to weights, and once what lacks is taken it can be called again: payloads,
  // or segments of weights that have changed at rest. Error(check_failed): the version is not for
  // these weights.
  Lacks stage();
  // Lacking segments, the others are the target; once they are taken it can be called again.
  Lacks apply();

  // Of what this rank has coded: what another lacks, and on the other side its use.
  std::string answer(const Lack& lack) const;
  void take(const Lack& lack, std::string_view answer);

  void commit();

  // Which version the destination shards are, as their record says; nothing on other ranks.
  std::optional<VersionRecord> record();

  // Bytes of the destination shards that are not what the trainer made of them at that version.
  std::int64_t count_wrong(std::uint64_t version, std::vector<WrongByte>& examples);
  std::vector<ShardPrint> prints() const;

  const CodingWork& coding() const { return coding_work_; }  // of this version
  const CodingWork& applying() const { return apply_work_; }

 private:
  struct Trainer {
    WeightShard weights;
    std::vector<std::byte> baseline;
    TrainedWeights updates;
  };
  struct Receiver {
    WeightShard weights;
    TrainedWeights expected;
  };
  using BucketKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

  bool owns(const Parcel& parcel) const;
  bool demands(const Parcel& parcel) const;
  void find_chunks();
  void make_sender(std::uint64_t version);
  std::vector<HeldRegion> held_by_receiver();
  void make_receiver(std::uint64_t version, const Hash128& state);
  PayloadName name(std::size_t chunk) const;
  Lacks lacks_of(const std::vector<RewriteRequest>& requests, std::string_view what) const;
  std::string coded_payload(std::size_t chunk, std::size_t first) const;
  template <class Visit>
  void for_each_chunk(const Op& op, const Visit& visit) const;

  const Refit& refit_;
  const Schedule& schedule_;
  const DeltaGeometry& geometry_;
  const Rank rank_;
  const DeltaRunOptions& options_;
  const DeltaMode mode_;
  std::vector<std::optional<Trainer>> trainers_;    // by class
  std::vector<std::optional<Receiver>> receivers_;  // by class
  std::vector<std::size_t> coded_, demanded_;       // chunks, ascending
  std::optional<DeltaSender> sender_;
  std::optional<MemoryVersionStore> versions_;
  std::optional<DeltaReceiver> receiver_;
  std::uint64_t version_ = 0, base_version_ = 0;
  bool anchor_ = false;
  std::vector<std::uint64_t> payload_bytes_;
  std::map<std::size_t, std::string> payloads_;  // of this version, by chunk
  std::map<BucketKey, std::string> buckets_;
  CodingWork coding_work_, apply_work_;
};

}  // namespace refit
