#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/parcels.h"

namespace refit::test {

constexpr std::int64_t kMB = 1'000'000, kGB = 1000 * kMB;

// Content without fragments: enough for bounds, which look at ranks and bytes.
inline Parcel parcel(std::vector<Rank> owners, std::vector<Rank> demanders, std::int64_t bytes) {
  Parcel made;
  made.owners = std::move(owners);
  made.demanders = std::move(demanders);
  made.bytes = bytes;
  return made;
}

}  // namespace refit::test
