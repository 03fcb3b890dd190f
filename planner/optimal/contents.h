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
  std::int64_t bytes = 0;                        // what travels
  int chunks = 1;
  std::vector<std::int64_t> chunk_bytes;  // by chunk; empty: equal but for a row here and there

  double bytes_of_chunk(int i) const {
    if (chunk_bytes.empty()) return static_cast<double>(bytes) / chunks;
    return static_cast<double>(chunk_bytes[static_cast<std::size_t>(i)]);
  }
};

// In the order of the first parcel. `parcels` must outlive the result.
std::vector<Content> group_contents(const std::vector<Parcel>& parcels);

// Cuts each content in chunks of about `about_bytes`. Tensors can only be cut between rows, so the
// number is chosen near by such that the chunks are as equal as can be: ports that all work on
// chunks of one size stay in step.
void set_chunks(const Refit& refit, const std::vector<Parcel>& parcels, std::int64_t about_bytes,
                std::vector<Content>& contents);

}  // namespace refit
