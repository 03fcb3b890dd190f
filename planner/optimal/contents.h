#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/parcels.h"

namespace refit {

// All parcels with one set of owners and one set of demanders, of whatever stage: they travel as
// one, in equal chunks. Small tensors are coalesced by this alone.
struct Content {
  std::vector<ParcelId> parcels;
  const std::vector<Rank>* owners = nullptr;     // ascending, of the first parcel
  const std::vector<Rank>* demanders = nullptr;  // ascending
  std::int64_t bytes = 0;
  int chunks = 1;
};

// In the order of the first parcel. `parcels` must outlive the result.
std::vector<Content> group_contents(const std::vector<Parcel>& parcels);

// Sets `chunks` so that a chunk has about `chunk_bytes`, and no fragment's rows are used up.
void set_chunks(std::vector<Content>& contents, std::int64_t chunk_bytes);

}  // namespace refit
