#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/id.h"
#include "models/refit.h"

namespace refit {

// A box of a tensor class: the atom of a plan. The region's first interval counts members.
struct Fragment {
  ClassId tensor_class;
  Region region;

  friend bool operator==(const Fragment&, const Fragment&) = default;
};

// All content with the same owners and the same demanders: it may always travel together. Every
// fragment lies wholly inside or wholly outside each rank's shard, on both sides (the joint cuts).
// `chunks` equal parts can travel apart: chunk c holds slice(region, c, chunks) of each fragment.
struct Parcel {
  std::vector<Rank> owners;     // ascending; never empty
  std::vector<Rank> demanders;  // ascending; never empty
  int stage = 0;
  int group = 0;  // as asked of find_parcels: parcels of different groups are never merged
  int chunks = 1;
  std::int64_t bytes = 0;  // content
  std::vector<Fragment> fragments;
  // Of its bytes, what travels: 1 as it is, less if it travels coded (models/coding.h).
  double share = 1;

  friend bool operator==(const Parcel&, const Parcel&) = default;
};

std::int64_t bytes_of(const Refit& refit, const Fragment& fragment);

// Bytes of chunk `chunk`; the chunks of a parcel sum to its bytes.
std::int64_t chunk_bytes(const Refit& refit, const Parcel& parcel, int chunk);
// The same if the parcel were cut in `chunks`.
std::int64_t chunk_bytes(const Refit& refit, const Parcel& parcel, int chunk, int chunks);

// What travels of `content` bytes that are coded to a share of them: rounded up, no less than the
// header of what is coded, and as it is where that is less. Cutting content in parts never makes
// the sum smaller, so what holds of a whole parcel bounds every way to cut it.
std::int64_t wire_bytes(double share, std::int64_t content);
// The parcel sent in one piece.
std::int64_t wire_bytes(const Parcel& parcel);
// What travels of chunk `chunk`; of a parcel that is not coded the same as chunk_bytes.
std::int64_t chunk_wire_bytes(const Refit& refit, const Parcel& parcel, int chunk);
std::int64_t chunk_wire_bytes(const Refit& refit, const Parcel& parcel, int chunk, int chunks);
// At [c] what travels of chunks 0 to c - 1, so that a range of chunks is one subtraction.
std::vector<std::int64_t> chunk_wire_sums(const Refit& refit, const Parcel& parcel);

// The joint cuts of source and destination layouts of every class, merged by (stage, group, owners,
// demanders), in a stable order. `group_of` keeps content apart that must not share a parcel, such
// as classes with different strategies; leave it empty to merge all.
//
// Works on classes and mesh coordinates: cost grows with classes x shards, not with tensors x
// ranks.
std::vector<Parcel> find_parcels(const Refit& refit,
                                 const std::function<int(const TensorClass&)>& group_of = {});

}  // namespace refit
